#include "must.h"

static char buf[100];

int main(void)
{
	fpos_t here;
	FILE *f = fopen("in", "r");
	MUST(f != NULL);
	MUST(fseek(f, 100, SEEK_SET) == 0);
	MUST(fread(buf, 1, 10, f) == 10);
	MUST(ftell(f) == 110);
	MUST(fgetpos(f, &here) == 0);
	MUST(fseeko(f, 90, SEEK_CUR) == 0);
	MUST(fread(buf, 1, 10, f) == 10);
	MUST(fseek(f, -50, SEEK_END) == 0);
	MUST(fread(buf, 1, 20, f) == 20);
	MUST(fsetpos(f, &here) == 0);
	MUST(fread(buf, 1, 10, f) == 10);
	rewind(f);
	MUST(fread(buf, 1, 10, f) == 10);
	MUST(fseek(f, -1, SEEK_SET) == -1);
	MUST(fclose(f) == 0);
}
