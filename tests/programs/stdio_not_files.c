#include "must.h"

static ssize_t take(void *cookie, const char *text, size_t n)
{
	return cookie && text ? (ssize_t)n : 0;
}

int main(void)
{
	char line[64], text[] = "in memory\n", *made;
	size_t size;
	FILE *f = popen("echo hello", "r");
	MUST(f != NULL && fgets(line, sizeof line, f) != NULL && pclose(f) == 0);
	MUST((f = fopencookie(line, "w", (cookie_io_functions_t){.write = take})) != NULL);
	MUST(fputs("hello", f) >= 0 && fclose(f) == 0);
	MUST((f = fmemopen(text, sizeof text, "r")) != NULL);
	MUST(fgets(line, sizeof line, f) != NULL && fclose(f) == 0);
	MUST((f = open_memstream(&made, &size)) != NULL);
	MUST(fprintf(f, "%d", 1) == 1 && fclose(f) == 0);
	MUST(sscanf("12", "%zu", &size) == 1 && snprintf(line, sizeof line, "%d", 1) == 1);
}
