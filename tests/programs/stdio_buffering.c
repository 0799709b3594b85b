#include "must.h"

static void write_lines(const char *name, int mode)
{
	FILE *f = fopen(name, "w");
	MUST(f != NULL);
	MUST(setvbuf(f, NULL, mode, mode == _IONBF ? 0 : 4096) == 0);
	for (int i = 0; i < 100; i++)
		MUST(fputs("0123456789\n", f) >= 0);
	MUST(fclose(f) == 0);
}

int main(void)
{
	write_lines("none", _IONBF);
	write_lines("line", _IOLBF);
	write_lines("full", _IOFBF);
}
