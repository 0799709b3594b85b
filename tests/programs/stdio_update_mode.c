#include "must.h"

int main(void)
{
	char buf[16];
	FILE *f = fopen("data", "r+");
	MUST(f != NULL);
	MUST(fread(buf, 1, 10, f) == 10);
	MUST(fseek(f, 0, SEEK_CUR) == 0);
	MUST(fwrite("abcde", 1, 5, f) == 5);
	MUST(fseek(f, 5, SEEK_CUR) == 0);
	MUST(fread(buf, 1, 10, f) == 10);
	MUST(fclose(f) == 0);
}
