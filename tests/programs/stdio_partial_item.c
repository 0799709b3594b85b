#include "must.h"

static char buf[200];

int main(void)
{
	FILE *f = fopen("in", "r");
	MUST(f != NULL);
	MUST(fread(buf, 10, 20, f) == 9);
	MUST(fclose(f) == 0);
}
