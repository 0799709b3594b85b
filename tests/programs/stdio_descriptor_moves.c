#include "must.h"

int main(void)
{
	char text[601];
	memset(text, 'x', 600);
	text[600] = '\0';
	FILE *f = fopen("out", "w");
	MUST(f != NULL);
	int fd = fileno(f);
	MUST(fputs(text, f) >= 0 && fflush(f) == 0);
	MUST(lseek(fd, 100, SEEK_SET) == 100);
	MUST(fputs(text, f) >= 0 && fflush(f) == 0);
	MUST(lseek(fd, 1000, SEEK_SET) == 1000);
	MUST(fputs("0123456789", f) >= 0);
	MUST(fclose(f) == 0);
	f = fopen("in", "r");
	MUST(f != NULL && setvbuf(f, NULL, _IONBF, 0) == 0);
	fd = fileno(f);
	MUST(fread(text, 10, 1, f) == 1);
	MUST(lseek(fd, 2000, SEEK_SET) == 2000);
	MUST(fread(text, 10, 1, f) == 1);
	MUST(fclose(f) == 0);
}
