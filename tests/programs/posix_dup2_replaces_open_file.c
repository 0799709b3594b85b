#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int a = open("a", O_RDONLY);
	int b = open("b", O_RDONLY);
	MUST(a >= 0 && b >= 0);
	MUST(dup2(a, b) == b);
	MUST(read(b, buf, 10) == 10);
	MUST(read(a, buf, 10) == 10);
	MUST(close(b) == 0);
	MUST(read(a, buf, 10) == 10);
	MUST(close(a) == 0);
	MUST(read(b, buf, 10) == -1);
}
