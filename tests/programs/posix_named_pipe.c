#include <unistd.h>

#include "must.h"

/* An open that waits for another process, one that never waits, and a stream. */
int main(void)
{
	static _Alignas(64) char got[8], three[4] = "abc";
	MUST(mkfifo("p", 0600) == 0);
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		usleep(50000);
		int out = open("p", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		MUST(out >= 0 && write(out, three, 3) == 3 && close(out) == 0);
		exit(0);
	}
	int in = open("p", O_RDONLY);
	MUST(in >= 0 && waitpid(child, NULL, 0) == child);
	MUST(read(in, got, sizeof got) == 3 && close(in) == 0);
	int both = open("p", O_RDWR);
	MUST(both >= 0 && write(both, "ab", 2) == 2 && read(both, got, sizeof got) == 2);
	FILE *f = fopen("p", "r");
	MUST(f && write(both, "x\n", 2) == 2 && fgets(got, sizeof got, f) && fclose(f) == 0 && close(both) == 0);
	int file = open("file", O_RDWR | O_CREAT, 0600);
	MUST(file >= 0 && write(file, three, 3) == 3 && close(file) == 0);
}
