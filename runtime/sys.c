#include "sys.h"

#include <errno.h>

int64_t sys_own_read;
bool sys_confined;

#if defined(__x86_64__)
long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	if (__builtin_expect(sys_confined, 0))
		return -EPERM;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(sys_confined, 0))
		return -EPERM;
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8) : "memory");
	return x0;
}
#else
#error "iolens knows the system call convention of x86-64 and AArch64 only"
#endif

int sys_open_private(const char *path)
{
	struct stat s;
	int directory = sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (directory < 0)
		return -1;
	if (sys_fstat(directory, &s) == 0 && s.st_uid == geteuid() && !(s.st_mode & 077))
		return directory;
	sys_close(directory);
	return -1;
}

bool sys_private(const char *path)
{
	int directory = sys_open_private(path);
	if (directory >= 0)
		sys_close(directory);
	return directory >= 0;
}
