/* Batches of all classes of sizes, at their edges. */
#include <fcntl.h>
#include <libaio.h>
enum { MOST = 65 };
int main(void)
{
	static const int sizes[] = {1, 2, 4, 5, 16, 17, 64, MOST};
	static struct iocb block[MOST], *list[MOST];
	static struct io_event event[MOST];
	static char text[MOST];
	io_context_t context = 0;
	int fd = open("data", O_RDWR | O_CREAT, 0600);
	if (io_setup(MOST, &context))
		return 1;
	for (int i = 0; i < MOST; i++) {
		io_prep_pwrite(&block[i], fd, &text[i], 1, i);
		list[i] = &block[i];
	}
	for (int k = 0; k < 8; k++)
		if (io_submit(context, sizes[k], list) != sizes[k] ||
		    io_getevents(context, sizes[k], sizes[k], event, NULL) != sizes[k])
			return 2;
	io_destroy(context);
	return 0;
}
