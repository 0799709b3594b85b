#include "must.h"

int main(void)
{
	char line[64];
	int number;
	MUST(scanf("%d", &number) == 1 && number == 123);
	MUST(getchar() == '\n');
	MUST(fgets(line, sizeof line, stdin) != NULL);
	MUST(fgetc(stdin) == 'x');
	MUST(fread(line, 1, 3, stdin) == 3);
	MUST(getchar() == EOF);
}
