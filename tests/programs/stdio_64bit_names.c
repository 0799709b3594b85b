#include "must.h"

int main(void)
{
	fpos64_t here;
	FILE *f = fopen64("a", "w+");
	MUST(f != NULL);
	MUST(fputs("0123456789", f) >= 0);
	MUST(fseeko64(f, 5, SEEK_SET) == 0);
	MUST(fgetpos64(f, &here) == 0);
	MUST(fsetpos64(f, &here) == 0);
	MUST(ftello64(f) == 5);
	MUST(fgetc(f) == '5');
	MUST((f = freopen64("b", "w", f)) != NULL);
	MUST(fputs("x", f) >= 0);
	MUST(fclose(f) == 0);
}
