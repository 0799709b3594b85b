cat >s.c <<'X'
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define ALLOW(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
int main(int c, char **v)
{
	int in = open("in", O_RDWR | O_CREAT, 0600), out = open("out", O_RDWR | O_CREAT, 0600); char b[64];
	struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ALLOW(SYS_read), ALLOW(SYS_write),
		ALLOW(SYS_exit), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL)};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	if (write(in, "hello", 5) != 5 || lseek(in, 0, 0)) return 3;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (*v[1] == 's' ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) : *v[1] == 'p' ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)
	    : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p)) return 4;
	for (int i = 0; i < 3000; i++) { long n = read(in, b, 5); if (write(out, b, 5) != 5 || n < 0) _exit(5); }
	write(1, "done\n", 5);
	if (*v[1] == 's') syscall(SYS_exit, 7);
	_exit(7);
}
X
cc -o s s.c && for how in strict prctl call; do ./s $how; echo $how $?; stat -c %s out; done
