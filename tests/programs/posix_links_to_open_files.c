#include "must.h"

static char buf[10];

static void use(const char *name)
{
	int fd = open(name, O_RDONLY);
	MUST(fd >= 0);
	MUST(read(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}

int main(void)
{
	char name[64];
	int ends[2], fd = open("data", O_RDONLY);
	MUST(fd >= 0 && pipe(ends) == 0);
	use("/dev/stdin");
	snprintf(name, sizeof name, "/dev/fd/%d", fd);
	use(name);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	use(name);
	snprintf(name, sizeof name, "/proc/%d/cwd/data", (int)getpid());
	use(name);
	snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
	MUST(write(ends[1], buf, 10) == 10);
	use(name);
	FILE *f = fopen("/dev/stdin", "r");
	MUST(f != NULL && fread(buf, 10, 1, f) == 1 && fclose(f) == 0);
	use("/dev/zero");
	MUST(close(fd) == 0);
}
