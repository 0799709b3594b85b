/* What programs with one cause have in common: FOLDER, WHAT, and arguments; numbers may end in K and M. */
#ifndef CAUSE_H
#define CAUSE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MB = 1 << 20, TOTAL = 64 * MB };

static char path[4096], block[TOTAL];
static const char *folder;
static char **arguments;

/* How the program ends that cannot go on. */
static void fail(void);

static size_t number(int which)
{
	char *unit = "";
	size_t value = arguments[which] ? strtoul(arguments[which], &unit, 10) : 0;
	return *unit == 'K' ? value << 10 : *unit == 'M' ? value << 20 : value;
}

static int is(int which, const char *word)
{
	return arguments[which] && !strcmp(arguments[which], word);
}

static void must(int holds)
{
	if (!holds) {
		perror(path);
		fail();
	}
}

static const char *named(const char *name, size_t i)
{
	snprintf(path, sizeof path, "%s/%s%zu", folder, name, i);
	return path;
}

static int opened(const char *name, size_t i, int flags)
{
	int file = open(named(name, i), flags, 0644);
	must(file >= 0);
	return file;
}

#endif
