#include "must.h"

int main(void)
{
	FILE *f = fopen("out", "w");
	FILE *g = fopen("other", "w");
	MUST(f != NULL && g != NULL);
	MUST(fputs("abc", f) >= 0);
	MUST(fflush(f) == 0);
	MUST(fflush(f) == 0);
	MUST(fputs("def", g) >= 0);
	MUST(fflush(NULL) == 0);
	MUST(fclose(f) == 0);
	MUST(fclose(g) == 0);
}
