#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char *b = malloc(100000);
	memset(b, 'x', 100000);
	long sum = 0;
	for (int i = 0; i < 50; i++) {
		char n[32];
		snprintf(n, sizeof n, "f%d", i % 9);
		int fd = open(n, O_RDWR | O_CREAT, 0600);
		if (write(fd, b, 1000 + i) < 0)
			return 2;
		lseek(fd, 0, SEEK_SET);
		sum += read(fd, b, 100000);
		close(fd);
		FILE *s = fopen(n, "r");
		while (getc(s) != EOF)
			sum++;
		fclose(s);
	}
	if (!fork()) {
		FILE *s = fopen("c", "w");
		fprintf(s, "%ld\n", sum);
		exit(fclose(s));
	}
	int st;
	wait(&st);
	printf("%ld %d\n", sum, st);
	free(b);
	return 0;
}
