#include "must.h"

#include <sys/time.h>

static _Alignas(64) char buf[16];
static volatile int fd, storms;

static void on_alarm(int signal)
{
	buf[0] = signal;
	MUST(pwrite(fd, buf, 10, 0) == 10);
	MUST(close(open("out", O_RDONLY)) == 0);
	storms++;
}

int main(void)
{
	struct itimerval often = {{0, 100}, {0, 100}}, never = {0};
	MUST((fd = open("out", O_RDWR | O_CREAT, 0600)) >= 0);
	signal(SIGALRM, on_alarm);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (storms < 500) {
		MUST(pread(fd, buf, 1, 0) >= 0);
		MUST(close(open("in", O_RDONLY)) == 0);
	}
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
}
