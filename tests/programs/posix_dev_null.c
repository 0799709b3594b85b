#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int null = open("/dev/null", O_RDWR);
	int zero = open("/dev/zero", O_RDONLY);
	MUST(null >= 0 && zero >= 0);
	MUST(write(null, buf, 64) == 64);
	MUST(read(zero, buf, 32) == 32);
	MUST(close(null) == 0);
	MUST(close(zero) == 0);
}
