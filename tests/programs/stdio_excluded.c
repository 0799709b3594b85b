#include "must.h"

int main(void)
{
	char line[256];
	FILE *f = fopen("/etc/passwd", "r");
	MUST(f != NULL);
	MUST(fgets(line, 11, f) != NULL && strlen(line) == 10);
	MUST(fclose(f) == 0);
	MUST((f = fopen("/dev/null", "w")) != NULL);
	MUST(fputs("hello", f) >= 0);
	MUST(fclose(f) == 0);
}
