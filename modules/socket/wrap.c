/* Calls on sockets: bytes by the class of the other end. User memory is looked at only where the kernel has accepted it. */
#include "wrap.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "../posix/record.h"
#include "endpoint.h"
#include "fds.h"
#include "readable.h"

/* These move no data of the stream. */
static bool moves(int flags)
{
	return !(flags & (MSG_PEEK | MSG_ERRQUEUE));
}

static bool copied(void *to, const void *from, size_t n)
{
	bool sound = readable(from, n);
	if (sound)
		memcpy(to, from, n);
	return sound;
}

static void on_moved(struct span s, enum io_op op, int64_t got, const void *peer, socklen_t room)
{
	if (got < 0 || !s.at || span_tracked(s))
		return;
	enum state_class_id class = (enum state_class_id)s.at;
	struct sockaddr_storage address = {0};
	room = room < sizeof address ? room : sizeof address;
	/* The kernel says how long an address is, not how much room the program had for it. */
	if (class == STATE_CLASS_SOCKET && peer && copied(&address, peer, room))
		class = endpoint_class(&address, room);
	fds_count(class, op, got);
	self_count(op == IO_READ ? STATE_OP_SOCKET_RECEIVE : STATE_OP_SOCKET_SEND, 1, 0, got);
}

/* Descriptors behind the head of a message: the kernel sends 253 at most. */
static void share_each(const char *at, size_t n)
{
	enum { MOST = 253 };
	int fd[MOST];
	n = n < MOST ? n : MOST;
	if (n && copied(fd, at, n * sizeof *fd))
		for (size_t i = 0; i < n; i++)
			posix_on_sent(fd[i]);
}

/* What a message carries in addition to its bytes. */
static void share_sent(const struct msghdr *message)
{
	const char *at = message->msg_control;
	size_t left = message->msg_controllen;
	struct cmsghdr head;
	while (left >= sizeof head && copied(&head, at, sizeof head) && head.cmsg_len >= CMSG_LEN(0) &&
	       head.cmsg_len <= left) {
		if (head.cmsg_level == SOL_SOCKET && head.cmsg_type == SCM_RIGHTS)
			share_each(at + CMSG_LEN(0), (head.cmsg_len - CMSG_LEN(0)) / sizeof(int));
		size_t n = CMSG_ALIGN(head.cmsg_len);
		n = n < left ? n : left;
		at += n;
		left -= n;
	}
}

static void on_sent(struct span s, const struct msghdr *message, int64_t got)
{
	on_moved(s, IO_WRITE, got, message->msg_name, message->msg_namelen);
	if (message->msg_control && s.at == STATE_CLASS_SOCKET_UNIX)
		share_sent(message);
}

WRAP(ssize_t, send, int fd, const void *from, size_t n, int flags)
{
	struct span s = span_fd(fd);
	ssize_t got = REAL(send)(fd, from, n, flags);
	on_moved(s, IO_WRITE, got, NULL, 0);
	return got;
}
ALIAS_OF_LIBC(__send, send);

WRAP(ssize_t, sendto, int fd, const void *from, size_t n, int flags, const struct sockaddr *to, socklen_t room)
{
	struct span s = span_fd(fd);
	ssize_t got = REAL(sendto)(fd, from, n, flags, to, room);
	on_moved(s, IO_WRITE, got, to, room);
	return got;
}

WRAP(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags)
{
	struct span s = span_fd(fd);
	ssize_t got = REAL(sendmsg)(fd, message, flags);
	if (got >= 0)
		on_sent(s, message, got);
	return got;
}

WRAP(ssize_t, recv, int fd, void *to, size_t n, int flags)
{
	struct span s = span_fd(fd);
	ssize_t got = REAL(recv)(fd, to, n, flags);
	if (moves(flags))
		on_moved(s, IO_READ, got, NULL, 0);
	return got;
}

WRAP(ssize_t, __recv_chk, int fd, void *to, size_t n, size_t room, int flags)
{
	struct span s = span_fd(fd);
	ssize_t got = REAL(__recv_chk)(fd, to, n, room, flags);
	if (moves(flags))
		on_moved(s, IO_READ, got, NULL, 0);
	return got;
}

WRAP(ssize_t, recvfrom, int fd, void *to, size_t n, int flags, struct sockaddr *from, socklen_t *room)
{
	struct span s = span_fd(fd);
	ssize_t got = REAL(recvfrom)(fd, to, n, flags, from, room);
	if (got >= 0 && moves(flags))
		on_moved(s, IO_READ, got, from, from ? *room : 0);
	return got;
}

WRAP(ssize_t, __recvfrom_chk, int fd, void *to, size_t n, size_t size, int flags, struct sockaddr *from,
     socklen_t *room)
{
	struct span s = span_fd(fd);
	ssize_t got = REAL(__recvfrom_chk)(fd, to, n, size, flags, from, room);
	if (got >= 0 && moves(flags))
		on_moved(s, IO_READ, got, from, from ? *room : 0);
	return got;
}

/* Descriptors that came with a message: their numbers may have been those of others that were closed unseen. */
static void on_passed(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		const int *fds = (const int *)(const void *)CMSG_DATA(c);
		size_t n = c->cmsg_len >= CMSG_LEN(0) ? (c->cmsg_len - CMSG_LEN(0)) / sizeof *fds : 0;
		for (size_t i = 0; i < n && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS; i++)
			posix_made(fds[i]);
	}
}

WRAP(ssize_t, recvmsg, int fd, struct msghdr *message, int flags)
{
	struct span s = span_fd(fd);
	ssize_t got = REAL(recvmsg)(fd, message, flags);
	if (got >= 0)
		on_passed(message);
	if (got >= 0 && moves(flags))
		on_moved(s, IO_READ, got, message->msg_name, message->msg_namelen);
	return got;
}

WRAP(int, sendmmsg, int fd, struct mmsghdr *v, unsigned n, int flags)
{
	struct span s = span_fd(fd);
	int got = REAL(sendmmsg)(fd, v, n, flags);
	for (int i = 0; i < got; i++)
		on_sent(s, &v[i].msg_hdr, v[i].msg_len);
	return got;
}

WRAP(int, recvmmsg, int fd, struct mmsghdr *v, unsigned n, int flags, struct timespec *timeout)
{
	struct span s = span_fd(fd);
	int got = REAL(recvmmsg)(fd, v, n, flags, timeout);
	for (int i = 0; i < got; i++)
		on_passed(&v[i].msg_hdr);
	for (int i = 0; moves(flags) && i < got; i++)
		on_moved(s, IO_READ, v[i].msg_len, v[i].msg_hdr.msg_name, v[i].msg_hdr.msg_namelen);
	return got;
}

/* What the descriptor is connected to is looked up at its next use. */
WRAP(int, connect, int fd, const struct sockaddr *to, socklen_t room)
{
	int result = REAL(connect)(fd, to, room);
	if (result == 0 || errno == EINPROGRESS)
		fds_unclassify(fd);
	return result;
}
ALIAS_OF_LIBC(__connect, connect);
