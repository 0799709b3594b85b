#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	MUST(read(0, buf, 10) == 10);
	MUST(read(0, buf, 10) == 10);
	MUST(lseek(0, 0, SEEK_SET) == 0);
	MUST(pread(0, buf, 10, 20) == 10);
}
