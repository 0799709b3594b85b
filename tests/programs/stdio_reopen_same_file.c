#include "must.h"

int main(void)
{
	for (int i = 0; i < 3; i++) {
		FILE *f = fopen("out", "w");
		MUST(f != NULL);
		MUST(fputs("0123456789", f) >= 0);
		MUST(fclose(f) == 0);
	}
}
