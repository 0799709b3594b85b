#include "must.h"

static _Alignas(4096) char buf[64 * KIB];

int main(void)
{
	ssize_t n;
	int in = open("in", O_RDONLY);
	int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	MUST(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof buf)) > 0)
		MUST(write(out, buf, n) == n);
	MUST(close(in) == 0);
	MUST(close(out) == 0);
}
