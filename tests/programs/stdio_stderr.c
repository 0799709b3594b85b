#include "must.h"

int main(void)
{
	MUST(fprintf(stderr, "%d\n", 123) == 4);
	MUST(fputs("abc\n", stderr) >= 0);
	errno = ENOENT;
	perror("x");
}
