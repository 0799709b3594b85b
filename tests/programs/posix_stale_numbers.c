/* A file's number is free by an instruction of the program's own, which iolens cannot see: what is made next has it. */
#include "must.h"

#include <pty.h>
#include <sys/socket.h>

extern int pidfd_open(pid_t process, unsigned flags) __attribute__((weak));
extern int pidfd_getfd(int process, int theirs, unsigned flags) __attribute__((weak));
extern int open_tree(int dir, const char *path, unsigned flags) __attribute__((weak));

static char block[100];

static void close_unseen(int fd)
{
	long result;
#if defined(__x86_64__)
	__asm__ volatile("syscall" : "=a"(result) : "a"((long)SYS_close), "D"((long)fd) : "rcx", "r11", "memory");
#else
	register long number __asm__("x8") = SYS_close, first __asm__("x0") = fd;
	__asm__ volatile("svc 0" : "+r"(first) : "r"(number) : "memory");
	result = first;
#endif
	MUST(result == 0);
}

static int number_of(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0 && write(fd, block, 10) == 10);
	close_unseen(fd);
	return fd;
}

/* The file has no stat. */
static void is(int fd, int expected)
{
	struct stat s;
	MUST(fd == expected && fstat(fd, &s) == 0);
}

static int passed(int socket)
{
	char one;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control;
	struct iovec part = {&one, 1};
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	MUST(recvmsg(socket, &m, 0) == 1);
	int fd;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
	return fd;
}

static void pass(int socket, int fd)
{
	char one = 0;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec part = {&one, 1};
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	MUST(sendmsg(socket, &m, 0) == 1);
}

int main(void)
{
	int pair[2], ends[2], terminal, other;
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
	pass(pair[0], ends[1]);
	int fd = number_of("stale-passed");
	is(passed(pair[1]), fd);
	MUST(write(fd, block, 100) == 100);
	fd = number_of("stale-pty");
	MUST(openpty(&terminal, &other, NULL, NULL, NULL) == 0);
	is(terminal, fd);
	fd = number_of("stale-getpt");
	is(getpt(), fd);
	int process = -1;
	if (pidfd_open) {
		fd = number_of("stale-pidfd");
		process = pidfd_open(getpid(), 0);
		if (process >= 0)
			is(process, fd);
	}
	if (pidfd_getfd && process >= 0) {
		fd = number_of("stale-getfd");
		int copy = pidfd_getfd(process, ends[1], 0);
		if (copy >= 0)
			is(copy, fd);
	}
	if (open_tree) {
		fd = number_of("stale-tree");
		int tree = open_tree(AT_FDCWD, ".", 0);
		if (tree >= 0)
			is(tree, fd);
	}
}
