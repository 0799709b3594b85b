#include "must.h"

int main(void)
{
	char line[32];
	FILE *f = fopen("a", "a");
	MUST(f != NULL);
	MUST(fputs("0123456789", f) >= 0);
	MUST(fputs("0123456789", f) >= 0);
	MUST(fclose(f) == 0);
	MUST((f = fopen("b", "a+")) != NULL);
	MUST(fread(line, 1, 20, f) == 20);
	MUST(fseek(f, 0, SEEK_CUR) == 0);
	MUST(fputs("0123456789", f) >= 0);
	MUST(fclose(f) == 0);
}
