#include "endpoint.h"

#include <netinet/in.h>
#include <string.h>

#include "sys.h"

/* Networks by their first bits, the first that fits. An IPv4 address stands at the end of its IPv6 form. */
static const struct network {
	uint8_t address[16];
	int bits;
	enum state_class_id class;
} networks[] = {
#define IPV4(...)                                     \
	{                                             \
		[10] = 0xff, [11] = 0xff, __VA_ARGS__ \
	}
	{IPV4([12] = 127), 104, STATE_CLASS_SOCKET_LOOPBACK},
	{{[15] = 1}, 128, STATE_CLASS_SOCKET_LOOPBACK},
	{IPV4([12] = 10), 104, STATE_CLASS_SOCKET_PRIVATE},
	{IPV4([12] = 100, [13] = 64), 106, STATE_CLASS_SOCKET_PRIVATE},
	{IPV4([12] = 169, [13] = 254), 112, STATE_CLASS_SOCKET_PRIVATE},
	{IPV4([12] = 172, [13] = 16), 108, STATE_CLASS_SOCKET_PRIVATE},
	{IPV4([12] = 192, [13] = 168), 112, STATE_CLASS_SOCKET_PRIVATE},
	{{0xfc}, 7, STATE_CLASS_SOCKET_PRIVATE},
	{{0xfe, 0x80}, 10, STATE_CLASS_SOCKET_PRIVATE},
	{{0}, 0, STATE_CLASS_SOCKET_PUBLIC},
};

static bool within(const uint8_t address[16], const struct network *n)
{
	int whole = n->bits / 8, rest = n->bits % 8;
	return memcmp(address, n->address, (size_t)whole) == 0 &&
	       (!rest || (address[whole] ^ n->address[whole]) >> (8 - rest) == 0);
}

enum state_class_id endpoint_class(const void *address, socklen_t room)
{
	uint8_t bytes[16] = {[10] = 0xff, [11] = 0xff};
	sa_family_t family = AF_UNSPEC;
	if (room >= sizeof family)
		memcpy(&family, address, sizeof family);
	if (family == AF_UNIX)
		return STATE_CLASS_SOCKET_UNIX;
	if (family == AF_INET && room >= sizeof(struct sockaddr_in))
		memcpy(bytes + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
	else if (family == AF_INET6 && room >= sizeof(struct sockaddr_in6))
		memcpy(bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
	else
		return STATE_CLASS_SOCKET;
	const struct network *n = networks;
	while (!within(bytes, n))
		n++;
	return n->class;
}

enum state_class_id endpoint_of(int fd)
{
	struct sockaddr_storage peer = {0};
	socklen_t room = sizeof peer;
	if (sys_call(SYS_getpeername, fd, (long)&peer, (long)&room, 0, 0, 0) == 0)
		return endpoint_class(&peer, room);
	int type = 0;
	room = sizeof type;
	long known = sys_call(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, (long)&type, (long)&room, 0);
	return known == 0 && type == SOCK_STREAM ? STATE_CLASS_NONE : STATE_CLASS_SOCKET;
}
