#include "must.h"

int main(void)
{
	FILE *f = fopen("in", "r");
	MUST(f != NULL);
	MUST(fgetc(f) == 'a');
	MUST(ungetc('a', f) == 'a');
	MUST(fgetc(f) == 'a');
	MUST(fgetc(f) == 'b');
	MUST(fclose(f) == 0);
}
