#include "must.h"

static char buf[1000];

int main(void)
{
	FILE *f = fopen("data", "w");
	MUST(f != NULL);
	MUST(fwrite(buf, 10, 3, f) == 3);
	MUST(fwrite(buf, 1, 500, f) == 500);
	MUST(fwrite(buf, 1, 0, f) == 0);
	MUST(fclose(f) == 0);
	MUST((f = fopen("data", "r")) != NULL);
	MUST(fread(buf, 100, 4, f) == 4);
	MUST(fread(buf, 1, 1000, f) == 130);
	MUST(fread(buf, 1, 1000, f) == 0);
	MUST(fclose(f) == 0);
}
