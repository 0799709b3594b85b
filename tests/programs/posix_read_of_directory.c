#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int dir = open("sub", O_RDONLY);
	MUST(dir >= 0);
	MUST(read(dir, buf, 10) == -1 && errno == EISDIR);
	MUST(close(dir) == 0);
}
