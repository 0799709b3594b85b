#include "must.h"

int main(void)
{
	FILE *f = tmpfile();
	MUST(f != NULL);
	MUST(fputs("0123456789", f) >= 0);
	rewind(f);
	MUST(fgetc(f) == '0');
	MUST(fclose(f) == 0);
}
