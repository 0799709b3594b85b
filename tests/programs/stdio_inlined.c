#include "must.h"

int main(void)
{
	int n = 0;
	FILE *f = fopen("data", "w+");
	MUST(f != NULL);
	for (int i = 0; i < 10000; i++)
		MUST(putc_unlocked('a' + i % 26, f) != EOF);
	rewind(f);
	while (getc_unlocked(f) != EOF)
		n++;
	MUST(n == 10000);
	rewind(f);
	for (int i = 0; i < 5000; i++)
		MUST(getc_unlocked(f) != EOF);
	MUST(ungetc('!', f) == '!');
	MUST(getc_unlocked(f) == '!');
	MUST(fgetc(f) != EOF);
	MUST(fclose(f) == 0);
	for (int i = 0; i < 100; i++)
		MUST(putchar_unlocked('x') == 'x');
}
