/* Children that are forked while a request is in flight, and one that has its own. */
#include <fcntl.h>
#include <libaio.h>
#include <sys/wait.h>
#include <unistd.h>
static char text[1000];
static int put(const char *name)
{
	io_context_t context = 0;
	struct iocb block, *list[1] = {&block};
	struct io_event event;
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	io_prep_pwrite(&block, fd, text, sizeof text, 0);
	if (io_setup(1, &context) || io_submit(context, 1, list) != 1)
		return 1;
	if (fork() == 0)
		_exit(0); /* with a request of its parent in flight */
	wait(NULL);
	return io_getevents(context, 1, 1, &event, NULL) != 1;
}
int main(void)
{
	if (put("parents"))
		return 1;
	if (fork() == 0)
		_exit(put("childs"));
	int status;
	wait(&status);
	return status;
}
