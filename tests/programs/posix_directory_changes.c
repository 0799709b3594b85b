#include "must.h"

#include <fts.h>
#include <ftw.h>
#include <sched.h>
#include <stdbool.h>

static void use(const char *name)
{
	int fd = open(name, O_RDONLY);
	MUST(fd >= 0);
	MUST(close(fd) == 0);
}

static int each(const char *path, const struct stat *s, int kind, struct FTW *at)
{
	if (kind == FTW_F && strcmp(path + at->base, "f") == 0)
		use("f");
	return 0;
}

static void by_fts(void)
{
	char *const roots[] = {".", NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL, NULL);
	MUST(walk != NULL);
	for (FTSENT *e; (e = fts_read(walk));)
		if (e->fts_info == FTS_F && strcmp(e->fts_name, "f") == 0)
			use(e->fts_accpath);
	MUST(fts_close(walk) == 0);
}

static void *alone(void *unused)
{
	bool own = unshare(CLONE_FS) == 0; /* some containers forbid it */
	MUST(!own || chdir("d1") == 0);
	use(own ? "f" : "d1/f");
	return unused;
}

int main(void)
{
	pthread_t thread;
	use("f");
	by_fts();
	MUST(nftw(".", each, 8, FTW_CHDIR | FTW_PHYS) == 0);
	use("f");
	MUST(syscall(SYS_chdir, "d1") == 0);
	use("f");
	MUST(syscall(SYS_chdir, "..") == 0);
	MUST(chdir("d2") == 0);
	use("f");
	MUST(rename("../d2", "../d3") == 0);
	use("f");
	MUST(chdir("..") == 0);
	MUST(pthread_create(&thread, NULL, alone, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	use("f");
}
