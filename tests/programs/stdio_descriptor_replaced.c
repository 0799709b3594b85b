/* dup2 puts other files, and a pipe, in place of the descriptors of ordinary streams. */
#include "must.h"

static void say(FILE *f, const char *text, int times)
{
	for (int i = 0; i < times; i++)
		MUST(fputs(text, f) >= 0);
	MUST(fflush(f) == 0);
}

int main(void)
{
	char line[16];
	int ends[2], second = open("second", O_RDWR | O_CREAT | O_TRUNC, 0600);
	FILE *f = fopen("first", "w"), *in = fopen("in", "r");
	MUST(f != NULL && in != NULL && second >= 0 && pipe(ends) == 0);
	say(f, "12345678\n", 2);
	MUST(dup2(second, fileno(f)) >= 0);
	say(f, "1234\n", 3);
	pid_t child = fork();
	if (child == 0) {
		say(f, "child\n", 1);
		MUST(dup2(ends[1], fileno(f)) >= 0);
		say(f, "1\n", 1);
		_exit(0);
	}
	MUST(waitpid(child, NULL, 0) == child);
	MUST(fgets(line, sizeof line, in) != NULL && strcmp(line, "in\n") == 0);
	MUST(lseek(second, 0, SEEK_SET) == 0 && dup2(second, fileno(in)) >= 0);
	MUST(fgets(line, sizeof line, in) != NULL && strcmp(line, "1234\n") == 0);
	MUST(fclose(in) == 0);
	MUST(fclose(f) == 0);
}
