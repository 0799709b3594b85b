#include "must.h"

static char buf[64];
static int out;

static void last(void)
{
	MUST(write(out, buf, 20) == 20);
	MUST(close(out) == 0);
}

static void first(void)
{
	MUST(write(out, buf, 10) == 10);
}

int main(void)
{
	out = open("out", O_WRONLY | O_CREAT, 0600);
	MUST(out >= 0);
	MUST(write(out, buf, 5) == 5);
	MUST(at_quick_exit(last) == 0);
	MUST(at_quick_exit(first) == 0);
	quick_exit(0);
}
