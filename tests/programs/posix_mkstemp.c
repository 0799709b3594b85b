#include "must.h"

static _Alignas(64) char buf[16];

static void write_and_close(int fd)
{
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}

int main(void)
{
	char a[] = "a-XXXXXX", b[] = "b-XXXXXX", c[] = "c-XXXXXX.dat", d[] = "d-XXXXXX.dat", e[] = "e-XXXXXX";
	write_and_close(mkstemp(a));
	write_and_close(mkostemp(b, O_CLOEXEC));
	write_and_close(mkstemps(c, 4));
	write_and_close(mkostemps(d, 4, O_CLOEXEC));
	write_and_close(mkstemp64(e));
}
