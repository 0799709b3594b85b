#include "must.h"

int main(void)
{
	char buf[16];
	FILE *f = fopen("data", "w+");
	MUST(f != NULL);
	MUST(fputc_unlocked('a', f) == 'a');
	MUST(putc_unlocked('b', f) == 'b');
	MUST(fputs_unlocked("cde", f) >= 0);
	MUST(fwrite_unlocked("fghij\n", 2, 3, f) == 3);
	MUST(fflush_unlocked(f) == 0);
	rewind(f);
	MUST(fgetc_unlocked(f) == 'a');
	MUST(getc_unlocked(f) == 'b');
	MUST(fread_unlocked(buf, 1, 3, f) == 3);
	MUST(fgets_unlocked(buf, sizeof buf, f) != NULL);
	MUST(fclose(f) == 0);
}
