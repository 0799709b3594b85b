#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	for (int depth = 0; depth < 3; depth++) {
		char name[] = {'f', '0' + depth, 0};
		int fd = open(name, O_WRONLY | O_CREAT, 0600);
		MUST(write(fd, buf, 10) == 10);
		MUST(close(fd) == 0);
		pid_t child = fork();
		MUST(child >= 0);
		if (child > 0) {
			int status;
			MUST(waitpid(child, &status, 0) == child && status == 0);
			return 0;
		}
	}
}
