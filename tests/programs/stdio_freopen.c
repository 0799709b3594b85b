#include "must.h"

int main(void)
{
	FILE *f = fopen("a", "w");
	MUST(f != NULL);
	MUST(fputs("0123456789", f) >= 0);
	MUST((f = freopen("b", "w", f)) != NULL);
	MUST(fputs("01234", f) >= 0);
	MUST(fclose(f) == 0);
	MUST(freopen("out", "w", stdout) != NULL);
	MUST(printf("%s\n", "hello") == 6);
}
