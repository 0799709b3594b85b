/* Files by descriptor and by stream; libc serves getline, fputc and printf by functions of its own that are wrapped, too. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void by_descriptor(void)
{
	char block[4096];
	memset(block, 'x', sizeof block);
	int fd = open("blocks", O_CREAT | O_RDWR | O_TRUNC, 0644);
	for (int i = 0; i < 20; i++)
		if (write(fd, block, 1000) != 1000)
			exit(3);
	if (pread(fd, block, 500, 100) != 500)
		exit(4);
	fsync(fd);
	close(fd);
}

static void by_stream(void)
{
	FILE *f = fopen("lines", "w+");
	for (int i = 0; i < 300; i++)
		fprintf(f, "%d: a line of some length\n", i);
	for (int i = 0; i < 9000; i++)
		fputc(i % 80 ? 'a' : '\n', f);
	rewind(f);
	char *line = NULL;
	size_t room = 0;
	int number, lines = 0;
	while (lines < 100 && getline(&line, &room, f) > 0)
		lines++;
	while (fscanf(f, "%d: a line of some length\n", &number) == 1)
		lines++;
	while (getc(f) != EOF)
		;
	free(line);
	fclose(f);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("%d lines\n", lines);
}

int main(void)
{
	by_descriptor();
	by_stream();
	pid_t child = fork();
	if (child == 0) {
		by_descriptor();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return 0;
}
