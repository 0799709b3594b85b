#include "must.h"

int main(void)
{
	int c, n = 0;
	FILE *f = fopen("in", "r");
	MUST(f != NULL);
	while ((c = getc(f)) != EOF)
		n++;
	MUST(n == 10000);
	MUST(fclose(f) == 0);
}
