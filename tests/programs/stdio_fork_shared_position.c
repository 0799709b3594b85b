#include "must.h"

int main(void)
{
	int status;
	FILE *f = fopen("out", "w");
	MUST(f != NULL);
	MUST(fputs("0123456789", f) >= 0 && fflush(f) == 0);
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		MUST(fputs("01234", f) >= 0 && fflush(f) == 0);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
	MUST(fputs("abc", f) >= 0 && fflush(f) == 0);
	MUST(fclose(f) == 0);
}
