#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int pair[2];
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(lseek(fd, 30, SEEK_SET) == 30);
	union {
		char bytes[CMSG_SPACE(sizeof fd)];
		struct cmsghdr head;
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec part = {buf, 1};
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	MUST(sendmsg(pair[0], &msg, 0) == 1);
	MUST(close(fd) == 0);
	MUST(recvmsg(pair[1], &msg, 0) == 1);
	memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
	MUST(read(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
