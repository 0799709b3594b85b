#include "must.h"

/* As programs call that hook mmap, or were built for an older libc. */
int main(void)
{
	off_t from = 100, to = 20;
	int ends[2];
	int in = open("in", O_RDONLY);
	int out = open("out", O_RDWR | O_CREAT, 0644);
	MUST(in >= 0 && out >= 0 && pipe(ends) == 0);
	MUST(syscall(SYS_copy_file_range, in, &from, out, &to, 50L, 0L) == 50 && from == 150 && to == 70);
	MUST(syscall(SYS_sendfile, out, in, NULL, 10L) == 10);
	MUST(syscall(SYS_splice, in, NULL, ends[1], NULL, 30L, 0L) == 30);
	MUST(syscall(SYS_mmap, NULL, 100L, PROT_READ, MAP_PRIVATE, in, 0L) != -1);
	MUST(syscall(SYS_mmap, NULL, 100L, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1L, 0L) != -1);
	MUST(syscall(SYS_mmap, NULL, 100L, PROT_READ, MAP_PRIVATE, in, 1L) == -1 && errno == EINVAL);
	MUST(syscall(SYS_copy_file_range, in, (off_t *)16, out, NULL, 50L, 0L) == -1 && errno == EFAULT);
	MUST(syscall(SYS_sendfile, out, in, (off_t *)16, 50L) == -1 && errno == EFAULT);
	MUST(close(in) == 0);
	MUST(close(out) == 0);
}
