#include "must.h"

#include <mqueue.h>

int __close(int fd);
int __dup2(int from, int to);
pid_t __vfork(void);

static char buf[100];

static int fresh(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0);
	return fd;
}

static void use_pipe(void)
{
	int ends[2];
	MUST(pipe(ends) == 0);
	MUST(write(ends[1], buf, 100) == 100 && read(ends[0], buf, 100) == 100);
	MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
}

int main(void)
{
	int a = fresh("closed"), b = fresh("other");
	MUST(__close(a) == 0 && __close(b) == 0);
	use_pipe();
	a = fresh("queue"), b = fresh("other");
	MUST(mq_close(a) == 0 && mq_close(b) == 0);
	use_pipe();
	a = fresh("replaced"), b = fresh("replacing");
	MUST(__dup2(b, a) == a && write(a, buf, 10) == 10);
	MUST(close(a) == 0 && close(b) == 0);
	a = fresh("parent"), b = fresh("other");
	pid_t child = __vfork();
	if (child == 0) {
		dup2(b, a);
		close(b);
		_exit(0);
	}
	MUST(child > 0 && waitpid(child, NULL, 0) == child);
	MUST(write(a, buf, 10) == 10 && close(a) == 0 && close(b) == 0);
	a = fresh("closed"), b = fresh("other");
	MUST(syscall(SYS_close, a) == 0 && syscall(SYS_close, b) == 0);
	use_pipe();
}
