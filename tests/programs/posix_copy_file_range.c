#include "must.h"

int main(void)
{
	off_t from = 30, to = 200;
	int in = open("in", O_RDONLY);
	int out = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(in >= 0 && out >= 0);
	MUST(copy_file_range(in, NULL, out, NULL, 10, 0) == 10);
	MUST(copy_file_range(in, &from, out, &to, 10, 0) == 10 && from == 40 && to == 210);
	MUST(copy_file_range(in, NULL, out, NULL, 10, 0) == 10);
	MUST(close(in) == 0);
	MUST(close(out) == 0);
}
