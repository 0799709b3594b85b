#include "must.h"

int main(void)
{
	off_t at = 100;
	int a[2], b[2];
	int in = open("in", O_RDONLY);
	int out = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(in >= 0 && out >= 0 && pipe(a) == 0 && pipe(b) == 0);
	MUST(splice(in, NULL, a[1], NULL, 20, 0) == 20);
	MUST(tee(a[0], b[1], 20, 0) == 20);
	MUST(splice(a[0], NULL, out, &at, 20, 0) == 20);
	MUST(splice(b[0], NULL, out, NULL, 20, 0) == 20);
	MUST(splice(in, NULL, out, NULL, 20, 0) == -1);
	MUST(close(in) == 0);
	MUST(close(out) == 0);
}
