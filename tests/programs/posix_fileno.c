#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	FILE *f = fopen("out", "w");
	MUST(f != NULL);
	MUST(write(fileno(f), buf, 10) == 10);
	MUST(write(fileno(f), buf, 10) == 10);
	MUST(fclose(f) == 0);
}
