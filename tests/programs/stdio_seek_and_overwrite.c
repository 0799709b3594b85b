#include "must.h"

int main(void)
{
	FILE *f = fopen("out", "w");
	MUST(f != NULL);
	MUST(fputs("0123456789", f) >= 0);
	MUST(fseek(f, 2, SEEK_SET) == 0);
	MUST(fputs("ab", f) >= 0);
	MUST(fseek(f, 1000, SEEK_SET) == 0);
	MUST(fputs("c", f) >= 0);
	MUST(fclose(f) == 0);
}
