#include "must.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

static _Alignas(64) char buf[64];

int main(void)
{
	int memory = memfd_create("memory", 0);
	int event = eventfd(0, 0);
	MUST(memory >= 0 && event >= 0);
	MUST(write(memory, buf, 64) == 64);
	MUST(pread(memory, buf, 32, 0) == 32);
	buf[0] = 1;
	MUST(write(event, buf, 8) == 8);
	MUST(read(event, buf, 8) == 8);
	eventfd_t number;
	MUST(eventfd_write(event, 5) == 0 && eventfd_read(event, &number) == 0 && number == 5);
	MUST(timerfd_create(CLOCK_MONOTONIC, 0) >= 0);
	MUST(close(memory) == 0);
}
