#include "must.h"

#include <dlfcn.h>

int main(void)
{
	int n;
	int (*old_getc)(FILE *) = dlsym(RTLD_DEFAULT, "_IO_getc");
	int (*old_putc)(int, FILE *) = dlsym(RTLD_DEFAULT, "_IO_putc");
	int (*old_fscanf)(FILE *, const char *, ...) = dlsym(RTLD_DEFAULT, "fscanf");
	MUST(old_getc && old_putc && old_fscanf);
	FILE *f = fopen("data", "w+");
	MUST(f != NULL);
	MUST(old_putc('1', f) == '1');
	MUST(old_putc('2', f) == '2');
	MUST(old_putc('3', f) == '3');
	rewind(f);
	MUST(old_getc(f) == '1');
	MUST(old_fscanf(f, "%d", &n) == 1 && n == 23);
	ssize_t (*old_padn)(FILE *, int, ssize_t) = dlsym(RTLD_DEFAULT, "_IO_padn");
	size_t (*old_sgetn)(FILE *, void *, size_t) = dlsym(RTLD_DEFAULT, "_IO_sgetn");
	char text[200];
	MUST(fseek(f, 0, SEEK_END) == 0 && old_padn(f, 'x', 100) == 100);
	MUST(fseek(f, 3, SEEK_SET) == 0 && old_sgetn(f, text, sizeof text) == 100);
	MUST(fclose(f) == 0);
}
