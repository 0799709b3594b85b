#include "must.h"

#include <wchar.h>

static int print(FILE *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vfprintf(f, format, args);
	va_end(args);
	return n;
}

int main(int argc, char **argv)
{
	char buf[64];
	size_t n = argc + 4;
	FILE *f = fopen(argv[0] ? "data" : "", "w+");
	MUST(f != NULL);
	MUST(fprintf(f, "%d\n", argc) == 2);
	MUST(print(f, "%d\n", argc) == 2);
	MUST(printf("%d\n", argc) == 2);
	rewind(f);
	MUST(fgets(buf, n, f) != NULL);
	MUST(fread(buf, 1, n, f) == 2);
	rewind(f);
	MUST(fgets_unlocked(buf, n, f) != NULL);
	MUST(fread_unlocked(buf, 1, n, f) == 2);
	MUST(fclose(f) == 0);
}
