#include "must.h"

/* libc reads a block for each character. */
int main(void)
{
	FILE *f = fopen("in", "r");
	MUST(f != NULL);
	for (int i = 0; i < 1000; i++) {
		MUST(fseek(f, 8192L * (i * 7 % 1000), SEEK_SET) == 0);
		MUST(fgetc(f) == 0);
	}
	MUST(fclose(f) == 0);
}
