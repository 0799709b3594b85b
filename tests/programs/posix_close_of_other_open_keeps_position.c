#include "must.h"

static _Alignas(64) char buf[128];

int main(void)
{
	int a = open("in", O_RDONLY);
	MUST(read(a, buf, 100) == 100);
	int b = open("in", O_RDONLY);
	MUST(close(b) == 0);
	MUST(read(a, buf, 100) == 100);
	MUST(close(a) == 0);
}
