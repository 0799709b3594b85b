#include "must.h"

static _Alignas(64) char buf[128];

int main(void)
{
	int a = open("in", O_RDONLY);
	int b = open("in", O_RDONLY);
	MUST(a >= 0 && b >= 0);
	for (int i = 0; i < 4; i++) {
		MUST(read(a, buf, 100) == 100);
		MUST(read(b, buf, 50) == 50);
	}
	MUST(close(a) == 0);
	MUST(close(b) == 0);
}
