#include "must.h"

static _Alignas(64) char buf[64];

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
};

static void receive_and_read(int from)
{
	union control control;
	struct iovec part = {buf, 1};
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	int fd;
	MUST(recvmsg(from, &msg, 0) == 1);
	memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
	MUST(read(fd, buf, 20) == 20);
	_exit(0);
}

static void send_over(int to, int fd)
{
	union control control = {
		.head = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec part = {buf, 1};
	struct mmsghdr msg = {
		.msg_hdr = {
			.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control}};
	memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	MUST(sendmmsg(to, &msg, 1, 0) == 1);
}

int main(void)
{
	int pair[2], status;
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0)
		receive_and_read(pair[1]);
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(read(fd, buf, 10) == 10);
	send_over(pair[0], fd);
	MUST(waitpid(child, &status, 0) == child && status == 0);
	MUST(read(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
