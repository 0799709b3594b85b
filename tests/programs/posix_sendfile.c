#include "must.h"

#include <sys/sendfile.h>

int main(void)
{
	off_t at = 50;
	int in = open("in", O_RDONLY);
	int out = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(in >= 0 && out >= 0);
	MUST(sendfile(out, in, NULL, 20) == 20);
	MUST(sendfile(out, in, &at, 30) == 30 && at == 80);
	MUST(sendfile(out, in, NULL, 20) == 20);
	MUST(sendfile64(out, in, NULL, 200) == 60);
	MUST(sendfile(-1, in, NULL, 200) == -1);
	MUST(close(in) == 0);
	MUST(close(out) == 0);
}
