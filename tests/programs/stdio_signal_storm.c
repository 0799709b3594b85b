#include "must.h"

#include <sys/time.h>

static FILE *inside;
static volatile int storms;
static char buffers[2][4096]; /* libc would take them in the handler, too, which may have interrupted malloc */

static void on_alarm(int signal)
{
	MUST(fputc(signal, inside) == signal);
	storms++;
}

int main(void)
{
	struct itimerval often = {{0, 100}, {0, 100}}, never = {0};
	FILE *outside = fopen("out", "w");
	MUST(outside != NULL && (inside = fopen("out", "w")) != NULL);
	MUST(setvbuf(outside, buffers[0], _IOFBF, 4096) == 0 && setvbuf(inside, buffers[1], _IOFBF, 4096) == 0);
	signal(SIGALRM, on_alarm);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (storms < 500)
		MUST(fputc('x', outside) == 'x');
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
}
