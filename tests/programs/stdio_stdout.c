#include "must.h"

static int print(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vprintf(format, args);
	va_end(args);
	return n;
}

int main(void)
{
	MUST(printf("%d\n", 12345) == 6);
	MUST(printf("plain text\n") >= 0);
	MUST(print("%s\n", "abc") == 4);
	MUST(puts("abc") >= 0);
	MUST(putchar('x') == 'x');
	MUST(putc('y', stdout) == 'y');
	MUST(fputs("z\n", stdout) >= 0);
	MUST(fwrite("1234\n", 1, 5, stdout) == 5);
	MUST(fflush(stdout) == 0);
}
