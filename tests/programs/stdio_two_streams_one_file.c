#include "must.h"

int main(void)
{
	char buf[16];
	FILE *f = fopen("in", "r");
	FILE *g = fopen("in", "r");
	MUST(f != NULL && g != NULL);
	for (int i = 0; i < 3; i++) {
		MUST(fread(buf, 1, 10, f) == 10);
		MUST(fread(buf, 1, 5, g) == 5);
	}
	MUST(fclose(f) == 0);
	MUST(fclose(g) == 0);
}
