#include "must.h"

static _Alignas(64) char buf[16];
static int fd, ends[2];

static void on_alarm(int signal)
{
	buf[0] = signal;
	MUST(write(fd, buf, 10) == 10);
	MUST(write(ends[1], buf, 1) == 1);
}

int main(void)
{
	signal(SIGALRM, on_alarm);
	MUST(pipe(ends) == 0);
	MUST((fd = open("out", O_WRONLY | O_CREAT, 0600)) >= 0);
	ualarm(20000, 0);
	MUST(read(ends[0], buf, 1) == 1);
	MUST(close(fd) == 0);
}
