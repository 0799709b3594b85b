#include "must.h"

int main(void)
{
	char line[64];
	FILE *f = fopen("data", "w+");
	MUST(f != NULL);
	MUST(fputs("one\ntwo\nthree", f) >= 0);
	MUST(fputs("four\n", f) >= 0);
	rewind(f);
	MUST(fgets(line, sizeof line, f) != NULL);
	MUST(fgets(line, 3, f) != NULL);
	MUST(fgets(line, sizeof line, f) != NULL);
	MUST(fgets(line, sizeof line, f) != NULL && strcmp(line, "threefour\n") == 0);
	MUST(fgets(line, sizeof line, f) == NULL);
	MUST(fclose(f) == 0);
}
