#include "must.h"

#include <sys/sendfile.h>

int main(void)
{
	int pair[2];
	int in = open("in", O_RDONLY);
	MUST(in >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	MUST(sendfile(pair[0], in, NULL, 100) == 100);
	MUST(close(in) == 0);
}
