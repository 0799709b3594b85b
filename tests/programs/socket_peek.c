#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int pair[2];
	struct iovec piece = {buf, 64};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	MUST(send(pair[0], buf, 48, 0) == 48);
	MUST(recv(pair[1], buf, 16, MSG_PEEK) == 16);
	MUST(recvfrom(pair[1], buf, 32, MSG_PEEK, NULL, NULL) == 32);
	MUST(recvmsg(pair[1], &message, MSG_PEEK) == 48);
	MUST(recv(pair[1], buf, 40, 0) == 40);
	MUST(recvmsg(pair[1], &message, 0) == 8);
}
