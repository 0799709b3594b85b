#include "must.h"

int main(void)
{
	FILE *f = fopen("data", "w+");
	MUST(f != NULL);
	MUST(fputc('a', f) == 'a');
	MUST(putc('b', f) == 'b');
	MUST(putw(7, f) == 0);
	rewind(f);
	MUST(fgetc(f) == 'a');
	MUST(getc(f) == 'b');
	MUST(getw(f) == 7);
	MUST(fgetc(f) == EOF);
	MUST(getc(f) == EOF);
	MUST(fclose(f) == 0);
}
