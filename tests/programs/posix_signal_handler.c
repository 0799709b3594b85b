#include "must.h"

static _Alignas(64) char buf[16];
static int fd;

static void on_signal(int signal)
{
	buf[0] = signal;
	MUST(write(fd, buf, 10) == 10);
}

int main(void)
{
	signal(SIGUSR1, on_signal);
	MUST((fd = open("out", O_WRONLY | O_CREAT, 0600)) >= 0);
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
	MUST(close(fd) == 0);
}
