/* The program closes the descriptors of streams; other files, and a pipe, get their numbers. */
#include "must.h"

static void put(FILE *f, const char *text, int times)
{
	for (int i = 0; i < times; i++)
		MUST(fputs(text, f) >= 0);
	MUST(fflush(f) == 0);
}

static void get(FILE *f, const char *line)
{
	char got[16];
	MUST(fgets(got, sizeof got, f) != NULL && strcmp(got, line) == 0);
}

static int at(int fd, const char *name)
{
	int made = open(name, O_RDWR | O_CREAT, 0600);
	MUST(made == fd);
	return fd;
}

/* The number is known to fileno, or only to the program. */
static void closed(const char *own, const char *other, int asked)
{
	FILE *f = fopen(own, "w");
	int fd = asked ? fileno(f) : f->_fileno;
	put(f, "12345678\n", 2);
	MUST(close(fd) == 0);
	at(fd, other);
	MUST(write(fd, "ab", 2) == 2);
	put(f, "1234\n", 3);
	MUST(write(fd, "cd", 2) == 2);
	MUST(fclose(f) == 0);
}

/* Two streams of one descriptor, whose number a pipe gets. */
static void several(void)
{
	int ends[2], fd = at(3, "both");
	FILE *in = fdopen(fd, "r"), *out = fdopen(fd, "w");
	put(out, "123\n", 1);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	get(in, "123\n");
	MUST(close_range(fd, fd, 0) == 0);
	MUST(pipe(ends) == 0 && ends[0] == fd && ends[1] == fd + 1);
	MUST(write(ends[1], "pipe\n", 5) == 5);
	get(in, "pipe\n");
	int reader = dup(fd);
	MUST(dup2(ends[1], fd) == fd);
	put(out, "1\n", 1);
	MUST(close(ends[1]) == 0 && fclose(in) == 0 && fclose(out) != 0 && close(reader) == 0);
}

/* Another stream gets the number. */
static void stream(void)
{
	FILE *old = fopen("old", "w");
	int fd = fileno(old);
	put(old, "1234\n", 1);
	MUST(close(fd) == 0);
	FILE *other = fopen("new", "w");
	MUST(other != NULL && other->_fileno == fd);
	put(other, "12\n", 1);
	put(old, "1234\n", 1);
	MUST(fclose(other) == 0 && fclose(old) != 0);
}

/* Nothing but its end comes between: what is in the buffer was written to the file that the program meant. */
static void unused(void)
{
	FILE *f = fopen("unused", "w");
	int fd = fileno(f);
	MUST(fputs("123", f) >= 0 && close(fd) == 0 && at(fd, "late") == fd);
	MUST(lseek(fd, 100, SEEK_SET) == 100 && fclose(f) == 0);
}

/* freopen without a name opens the file that has the number. */
static void again(void)
{
	FILE *f = fopen("before", "w");
	int fd = fileno(f);
	put(f, "12\n", 1);
	MUST(close(fd) == 0 && at(fd, "after") == fd && freopen(NULL, "w", f) == f);
	put(f, "12345678\n", 1);
	MUST(fclose(f) == 0);
}

int main(void)
{
	closed("first", "second", 1);
	closed("third", "fourth", 0);
	several();
	stream();
	unused();
	again();
}
