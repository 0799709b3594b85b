/* Results may be fetched, and blocks freed, before io_submit returns. */
#include <fcntl.h>
#include <libaio.h>
#include <pthread.h>
#include <stdlib.h>
enum { N = 20000, DEPTH = 16 };
static io_context_t context;
static void *reap(void *nothing)
{
	struct io_event event[DEPTH];
	for (int done = 0; done < N;) {
		int got = io_getevents(context, 1, DEPTH, event, NULL);
		for (int i = 0; i < got; i++)
			free(event[i].obj);
		done += got;
	}
	return nothing;
}
int main(void)
{
	static char text[512];
	pthread_t other;
	int fd = open("data", O_RDWR | O_CREAT, 0600);
	io_setup(N, &context);
	pthread_create(&other, NULL, reap, NULL);
	for (int i = 0; i < N; i++) {
		struct iocb *b = malloc(sizeof *b);
		io_prep_pwrite(b, fd, text, sizeof text, (long)i * 512);
		if (io_submit(context, 1, &b) != 1)
			return 1;
	}
	pthread_join(other, NULL);
	return 0;
}
