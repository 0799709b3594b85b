/* What standard output is changes under the stream, as a shell's does: a pipe, two files, the pipe again. */
#include "must.h"

static void say(const char *text, int times)
{
	for (int i = 0; i < times; i++)
		MUST(fputs(text, stdout) >= 0);
	MUST(fflush(stdout) == 0);
}

int main(void)
{
	int ends[2], first = open("first", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	MUST(pipe(ends) == 0 && first >= 0);
	MUST(dup2(ends[1], 1) == 1);
	say("12345678\n", 2);
	MUST(dup2(first, 1) == 1);
	say("1234\n", 3);
	MUST(close(1) == 0 && open("second", O_WRONLY | O_CREAT | O_TRUNC, 0600) == 1);
	say("1\n", 4);
	pid_t child = fork();
	if (child == 0) {
		MUST(dup2(first, 1) == 1);
		say("child\n", 1);
		_exit(0);
	}
	MUST(waitpid(child, NULL, 0) == child);
	MUST(dup2(ends[1], 1) == 1);
	say("12345678\n", 1);
}
