/* Habits that cost time, and the same work without them: habits WHAT FOLDER. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS = 4000, OPENS = 20000, SIZE = 1 << 20, QUERIES = 200, RECORD = 100 };

static char path[4096], block[SIZE];

static const char *named(const char *folder, const char *name, int number)
{
	snprintf(path, sizeof path, "%s/%s%d", folder, name, number);
	return path;
}

static void scan(int file)
{
	while (read(file, block, sizeof block / 16) > 0)
		;
}

/* A log that is opened for each line. */
static void reopen(const char *folder)
{
	for (int i = 0; i < OPENS; i++) {
		int file = open(named(folder, "log", 0), O_WRONLY | O_CREAT | O_APPEND, 0644);
		if (write(file, block, RECORD) != RECORD)
			exit(1);
		close(file);
	}
}

static void keep_open(const char *folder)
{
	int file = open(named(folder, "log", 0), O_WRONLY | O_CREAT | O_APPEND, 0644);
	for (int i = 0; i < SIZE / 65536; i++)
		if (write(file, block, 65536) != 65536)
			exit(1);
	close(file);
}

/* A file for each result, asked for before. */
static void storm(const char *folder)
{
	struct stat there;
	for (int i = 0; i < RECORDS; i++) {
		if (!stat(named(folder, "result", i), &there))
			exit(1);
		int file = open(path, O_WRONLY | O_CREAT, 0644);
		if (write(file, block, RECORD) != RECORD)
			exit(1);
		close(file);
	}
}

/* A database that is read for each query. */
static void rescan(const char *folder, int queries)
{
	int file = open(named(folder, "database", 0), O_RDONLY);
	for (int i = 0; i < queries; i++) {
		lseek(file, 0, SEEK_SET);
		scan(file);
	}
	close(file);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	if (!strcmp(what, "reopen"))
		reopen(argv[2]);
	else if (!strcmp(what, "keep_open"))
		keep_open(argv[2]);
	else if (!strcmp(what, "storm"))
		storm(argv[2]);
	else if (!strcmp(what, "rescan"))
		rescan(argv[2], QUERIES);
	else if (!strcmp(what, "read_once"))
		rescan(argv[2], 1);
	else
		return 2;
	return 0;
}
