#include "must.h"

static _Alignas(64) char data[8];

/* Each write of a description with O_SYNC or O_DSYNC is forced, by a copy too; of another one, those that say so. */
int main(void)
{
	struct iovec v = {data, sizeof data};
	int d = open("d", O_WRONLY | O_CREAT | O_DSYNC, 0600);
	for (int i = 0; i < 10; i++)
		MUST(write(d, data, 8) == 8);
	MUST(pwrite(d, data, 8, 80) == 8 && lseek(d, 88, SEEK_SET) == 88);
	int copy = dup(d);
	MUST(writev(copy, &v, 1) == 8);
	int s = open("s", O_RDWR | O_CREAT | O_SYNC, 0600);
	MUST(write(s, data, 8) == 8 && pread(s, data, 8, 0) == 8);
	int p = open("p", O_WRONLY | O_CREAT, 0600);
	MUST(write(p, data, 8) == 8 && pwritev2(p, &v, 1, -1, RWF_DSYNC) == 8 && write(p, data, 8) == 8);
	close(d), close(copy), close(s), close(p);
}
