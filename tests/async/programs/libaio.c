/* Requests of every kind, one descriptor closed before its results, one list that is refused in its middle. */
#include <fcntl.h>
#include <libaio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
enum { N = 8, BLOCK = 4096 };
static char text[N][BLOCK] __attribute__((aligned(4096)));
int main(void)
{
	io_context_t context = 0;
	struct iocb block[N], *list[N];
	struct io_event event[N];
	struct iovec pieces[2] = {{text[0], 1000}, {text[1], 24}};
	int fd = open("data", O_RDWR | O_CREAT, 0600), other = open("other", O_RDWR | O_CREAT, 0600), bad = 99;
	if (io_setup(N, &context))
		return 1;
	for (int i = 0; i < N; i++) {
		io_prep_pwrite(&block[i], i < 6 ? fd : other, text[i], BLOCK, (long)i * BLOCK);
		list[i] = &block[i];
	}
	if (io_submit(context, N, list) != N)
		return 2;
	close(other); /* before its requests are known to be done */
	for (int done = 0; done < N;)
		done += io_getevents(context, 1, N - done, event, NULL);
	io_prep_preadv(&block[0], fd, pieces, 2, 0);
	io_prep_fsync(&block[1], fd);
	io_prep_pread(&block[2], fd, text[2], BLOCK, 6L * BLOCK - 10); /* short */
	io_prep_pread(&block[3], bad, text[3], BLOCK, 0);              /* refused, and all behind it */
	io_prep_pread(&block[4], fd, text[4], BLOCK, 0);
	if (io_submit(context, 5, list) != 3)
		return 3;
	for (int done = 0; done < 3;)
		done += io_getevents(context, 1, 3 - done, event, NULL);
	io_destroy(context);
	return 0;
}
