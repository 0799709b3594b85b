#include "unit.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct unit *const __start_units[];
extern const struct unit *const __stop_units[];

static int failures;

static bool failed(bool ok, const char *what, const char *file, int line)
{
	if (!ok)
		printf("%s:%d: %s", file, line, what);
	failures += !ok;
	return !ok;
}

void unit_check(bool ok, const char *what, const char *file, int line)
{
	if (failed(ok, what, file, line))
		puts(" does not hold");
}

void unit_equal(int64_t got, int64_t wanted, const char *what, const char *file, int line)
{
	if (failed(got == wanted, what, file, line))
		printf(" is %lld, not %lld\n", (long long)got, (long long)wanted);
}

void unit_near(double got, double wanted, const char *what, const char *file, int line)
{
	if (failed(fabs(got - wanted) <= 1e-9 * fmax(fabs(wanted), 1), what, file, line))
		printf(" is %.17g, not %.17g\n", got, wanted);
}

void unit_text(const char *got, const char *wanted, const char *what, const char *file, int line)
{
	if (failed(got && !strcmp(got, wanted), what, file, line))
		printf(" is \"%s\", not \"%s\"\n", got ? got : "(null)", wanted);
}

char *unit_directory(void)
{
	const char *base = getenv("TMPDIR");
	char *path = NULL;
	if (asprintf(&path, "%s/iolens-unit-XXXXXX", base ? base : "/tmp") < 0 || !mkdtemp(path)) {
		perror("temporary directory");
		exit(1);
	}
	return path;
}

void unit_remove(char *directory)
{
	char path[4096];
	DIR *d = opendir(directory);
	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(directory);
	free(directory);
}

static int run(const struct unit *u)
{
	int before = failures;
	u->run();
	printf("%s %s\n", failures == before ? "ok" : "FAILED", u->name);
	return failures - before;
}

int main(int argc, char **argv)
{
	int found = 0;
	for (const struct unit *const *u = __start_units; u < __stop_units; u++) {
		if (argc > 1 && strcmp(argv[1], (*u)->name))
			continue;
		found++;
		run(*u);
	}
	if (!found)
		printf("no test %s\n", argc > 1 ? argv[1] : "at all");
	return failures || !found;
}
