#include "must.h"

#include <spawn.h>

static _Alignas(64) char buf[16];

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1]) {
		MUST(read(0, buf, 16) == 16);
		MUST(write(1, buf, 16) == 16);
		MUST(printf("%s\n", argv[1]) == 6);
		return 0;
	}
	posix_spawn_file_actions_t actions;
	pid_t child;
	int status;
	char *args[] = {"spawned", "hello", NULL};
	MUST(posix_spawn_file_actions_init(&actions) == 0);
	MUST(posix_spawn_file_actions_addopen(&actions, 0, "in", O_RDONLY, 0) == 0);
	MUST(posix_spawn_file_actions_addopen(&actions, 1, "out", O_WRONLY | O_CREAT, 0600) == 0);
	MUST(posix_spawn(&child, "/proc/self/exe", &actions, NULL, args, environ) == 0);
	MUST(waitpid(child, &status, 0) == child && status == 0);
}
