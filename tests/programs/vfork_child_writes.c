#include "must.h"

static char buf[100];

/* What the child changes is its own; what it moves belongs to the files that its numbers have then. */
static void child(int one, int two)
{
	if (dup2(two, one) != one || write(one, buf, 20) != 20)
		_exit(1);
	if (close(two) != 0 || open("three", O_WRONLY | O_CREAT, 0600) != two || write(two, buf, 30) != 30)
		_exit(2);
	close(one);
	int copy = dup(two);
	if (copy != one || write(copy, buf, 5) != 5)
		_exit(3);
	_exit(0);
}

int main(void)
{
	int one = open("one", O_WRONLY | O_CREAT, 0600);
	int two = open("two", O_WRONLY | O_CREAT, 0600);
	MUST(one >= 0 && two >= 0);
	for (int i = 0; i < 3; i++) {
		MUST(write(one, buf, 10) == 10);
		pid_t pid = vfork();
		if (pid == 0)
			child(one, two);
		int status;
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
		MUST(write(one, buf, 1) == 1);
		MUST(write(two, buf, 2) == 2);
	}
	MUST(close(one) == 0 && close(two) == 0);
}
