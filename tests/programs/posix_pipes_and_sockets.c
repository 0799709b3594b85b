#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int ends[2], pair[2];
	char byte = 'x';
	MUST(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	MUST(write(ends[1], buf, 64) == 64);
	MUST(read(ends[0], buf, 64) == 64);
	MUST(write(pair[0], buf, 32) == 32);
	MUST(read(pair[1], buf, 64) == 32);
	MUST(send(pair[0], &byte, 1, 0) == 1);
	FILE *f = fdopen(ends[1], "w");
	MUST(f != NULL && fputs("hello", f) >= 0 && fclose(f) == 0);
	MUST(close(ends[0]) == 0);
}
