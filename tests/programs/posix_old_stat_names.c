#include "must.h"

#include <dlfcn.h>

#ifdef __x86_64__
enum { STAT_VERSION = 1 };
#else
enum { STAT_VERSION = 0 };
#endif

int main(void)
{
	struct stat st;
	int (*old_stat)(int, const char *, struct stat *) = dlsym(RTLD_DEFAULT, "__xstat");
	int (*old_lstat)(int, const char *, struct stat *) = dlsym(RTLD_DEFAULT, "__lxstat64");
	int (*old_fstat)(int, int, struct stat *) = dlsym(RTLD_DEFAULT, "__fxstat");
	int (*old_fstatat)(int, int, const char *, struct stat *, int) = dlsym(RTLD_DEFAULT, "__fxstatat");
	MUST(old_stat && old_lstat && old_fstat && old_fstatat);
	MUST(old_stat(STAT_VERSION, "in", &st) == 0 && st.st_size == 100);
	MUST(old_lstat(STAT_VERSION, "in", &st) == 0 && st.st_size == 100);
	MUST(old_fstatat(STAT_VERSION, AT_FDCWD, "in", &st, 0) == 0 && st.st_size == 100);
	int fd = open("in", O_RDONLY);
	MUST(old_fstat(STAT_VERSION, fd, &st) == 0 && st.st_size == 100);
	MUST(close(fd) == 0);
}
