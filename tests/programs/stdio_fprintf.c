#include "must.h"

static int print(FILE *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vfprintf(f, format, args);
	va_end(args);
	return n;
}

int main(void)
{
	FILE *f = fopen("out", "w");
	MUST(f != NULL);
	MUST(fprintf(f, "%d %s\n", 42, "words") == 9);
	MUST(fprintf(f, "%s", "text") >= 0);
	MUST(print(f, "%05d", 1) == 5);
	MUST(print(f, "%s", "") == 0);
	MUST(fclose(f) == 0);
}
