#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int a = open("a", O_RDONLY);
	int b = open("b", O_RDONLY);
	int ends[2];
	MUST(a >= 0 && b == a + 1);
	MUST(close_range(a, b, 0) == 0);
	MUST(pipe(ends) == 0 && ends[0] == a && ends[1] == b);
	MUST(write(ends[1], buf, 10) == 10);
	MUST(read(ends[0], buf, 10) == 10);
	closefrom(a);
	MUST((a = open("a", O_RDONLY)) == ends[0]);
	MUST(read(a, buf, 10) == 10);
	MUST(close_range(a, a, CLOSE_RANGE_CLOEXEC) == 0);
	MUST(read(a, buf, 10) == 10);
	MUST(close(a) == 0);
}
