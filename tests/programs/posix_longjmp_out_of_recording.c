#include "must.h"

#include <setjmp.h>
#include <sys/time.h>
#include <ucontext.h>

enum { JUMPS = 2000, WRITES = 1000 };

static _Alignas(64) char buf[16];
static sigjmp_buf back;
static ucontext_t context;
static volatile int jumps;

static void on_alarm(int signal)
{
	jumps++;
	if (jumps % 4 == 0)
		setcontext(&context);
	if (jumps % 4 == 1)
		siglongjmp(back, signal);
	sigset_t alarm;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	if (jumps % 4 == 2)
		longjmp(back, signal);
	_longjmp(back, signal);
}

/* Deep below the frame that is jumped to: what comes afterwards comes from as deep. */
static void write_often(int fd, int depth)
{
	volatile char room[256];
	room[0] = (char)depth;
	if (depth)
		write_often(fd, depth - 1);
	while (jumps < JUMPS)
		MUST(pwrite(fd, buf, 10, 0) == 10);
	MUST(room[0] == (char)depth);
}

static void storm(int fd, const struct itimerval *often)
{
	MUST(getcontext(&context) == 0);
	sigsetjmp(back, 1);
	MUST(setitimer(ITIMER_REAL, often, NULL) == 0);
	write_often(fd, 10);
}

int main(int argc, char **argv)
{
	struct itimerval often = {{0, 50}, {0, 50}}, never = {0};
	struct sigaction action = {.sa_handler = on_alarm};
	static char other[64 * KIB];
	int fd = open("storm", O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(sigaltstack(&(stack_t){.ss_sp = other, .ss_size = sizeof other}, NULL) == 0);
	MUST(sigaction(SIGALRM, &action, NULL) == 0);
	storm(fd, &often);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	jumps = 0;
	action.sa_flags = SA_ONSTACK;
	MUST(sigaction(SIGALRM, &action, NULL) == 0);
	storm(fd, &often);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	MUST((fd = open("after", O_RDWR | O_CREAT, 0600)) >= 0);
	for (int i = 0; i < WRITES; i++)
		MUST(pwrite(fd, buf, 10, 0) == 10);
	MUST(close(fd) == 0);
}
