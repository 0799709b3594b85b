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
	stack_t small = {.ss_sp = malloc(8192), .ss_size = 8192};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	MUST(sigaltstack(&small, NULL) == 0);
	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	MUST((fd = open("out", O_WRONLY | O_CREAT, 0600)) >= 0);
	raise(SIGUSR1);
	MUST(close(fd) == 0);
}
