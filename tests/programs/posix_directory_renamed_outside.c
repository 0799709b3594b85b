#include "must.h"

static int *done;

static void use(const char *name)
{
	int fd = open(name, O_RDONLY);
	MUST(fd >= 0);
	MUST(close(fd) == 0);
}

/* Returns when the child has done so, and goes on. */
static pid_t renames(const char *old, const char *new)
{
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		MUST(rename(old, new) == 0);
		__atomic_store_n(done, 1, __ATOMIC_RELEASE);
		pause();
		_exit(1);
	}
	while (!__atomic_exchange_n(done, 0, __ATOMIC_ACQUIRE))
		usleep(1000);
	return child;
}

static void end(pid_t child)
{
	MUST(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

int main(void)
{
	done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(done != MAP_FAILED && chdir("d1") == 0);
	use("f");
	use("f");
	pid_t first = renames("../d1", "../d2");
	usleep(50000);
	use("f");
	use("f");
	end(first);
	end(renames("../d2", "../d3"));
	use("f");
}
