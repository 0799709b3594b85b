#include "must.h"

#include <spawn.h>

static char buf[100];

/* The program that is started writes 100 bytes, then this one 10. */
static void lend(int how)
{
	char *args[] = {"posix_lent_descriptor", "child", NULL};
	char command[64] = "printf %0100d 1 >&3";
	pid_t child = -1;
	int status = -1;
	if (how == 0)
		MUST(posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ) == 0);
	else if (how == 1 && (child = vfork()) == 0)
		_exit(execv("/proc/self/exe", args));
	else if (how == 2)
		MUST((status = system(command)) == 0);
	else if (how == 3)
		MUST((status = pclose(popen(command, "r"))) == 0);
	MUST(how > 1 || (child > 0 && waitpid(child, &status, 0) == child && status == 0));
	MUST(write(3, buf, 10) == 10);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		MUST(write(3, buf, 100) == 100);
		return 0;
	}
	for (int how = 0; how < 4; how++) {
		char name[] = {'0' + how, '\0'};
		int fd = open(name, O_WRONLY | O_CREAT, 0600);
		MUST(fd == 3);
		lend(how);
		MUST(close(3) == 0);
	}
}
