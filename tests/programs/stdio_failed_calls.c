#include "must.h"

int main(void)
{
	char buf[16];
	MUST(fopen("missing", "r") == NULL && errno == ENOENT);
	MUST(fopen("in", "q") == NULL && errno == EINVAL);
	FILE *f = fopen("in", "r");
	MUST(f != NULL);
	MUST(fputs("x", f) == EOF);
	MUST(fputc('x', f) == EOF);
	MUST(fwrite("xyz", 1, 3, f) == 0);
	MUST(fprintf(f, "%d", 1) < 0);
	MUST(fseek(f, 0, 77) == -1);
	MUST(fclose(f) == 0);
	MUST((f = fopen("out", "w")) != NULL);
	MUST(fgetc(f) == EOF);
	MUST(fgets(buf, sizeof buf, f) == NULL);
	MUST(fread(buf, 1, 16, f) == 0);
	MUST(fclose(f) == 0);
	MUST(fdopen(-1, "r") == NULL && errno == EBADF);
}
