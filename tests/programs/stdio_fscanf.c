#include "must.h"

static int scan(FILE *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vfscanf(f, format, args);
	va_end(args);
	return n;
}

int main(void)
{
	int a, b;
	char word[16];
	FILE *f = fopen("in", "r");
	MUST(f != NULL);
	MUST(fscanf(f, "%d", &a) == 1 && a == 12);
	MUST(fscanf(f, "%d %d", &a, &b) == 2 && b == 5);
	MUST(scan(f, "%15s", word) == 1 && strcmp(word, "word") == 0);
	MUST(fclose(f) == 0);
}
