#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int a = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
	int b = open("log", O_WRONLY | O_APPEND);
	MUST(a >= 0 && b >= 0);
	for (int i = 0; i < 2; i++) {
		MUST(write(a, buf, 10) == 10);
		MUST(write(b, buf, 10) == 10);
	}
	MUST(close(a) == 0);
	MUST(close(b) == 0);
}
