#include "link_flags.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "preload.h"

enum { NAMES = 4096, NAME = 64, HEADER = 60 };

/* Other libraries' names that the runtime wraps or asks for (iolens.names, sorted). */
struct names {
	size_t n;
	struct name {
		char name[NAME];
		bool wrapped, told;
	} of[NAMES];
};

/* Flags are words of a shell, and a comma ends an argument of -Wl. */
static bool can_be_told(const char *path)
{
	return !path[strcspn(path, ", \t\n'\"\\$*?[")];
}

static int cannot_be_told(const char *path)
{
	return cli_fail(CLI_INPUT, "config: %s: a path with blanks, commas or quotes cannot be in linker flags", path);
}

static bool beside(char *out, size_t room, const char *library, const char *name)
{
	const char *slash = strrchr(library, '/');
	return (size_t)snprintf(out, room, "%.*s/%s", (int)(slash - library), library, name) < room;
}

static int read_names(const char *path, struct names *to)
{
	char line[256];
	FILE *in = fopen(path, "r");
	if (!in)
		return cli_fail(CLI_INPUT, "config: %s: %s", path, strerror(errno));
	while (to->n < NAMES && fgets(line, sizeof line, in)) {
		struct name *name = &to->of[to->n++];
		snprintf(name->name, NAME, "%.*s", (int)strcspn(line, " \n"), line);
		name->wrapped = strstr(line, " wrapped");
	}
	fclose(in);
	return CLI_OK;
}

static int compare(const void *name, const void *row)
{
	return strcmp(name, ((const struct name *)row)->name);
}

static void tell(struct names *names, const char *symbol)
{
	struct name *found = bsearch(symbol, names->of, names->n, sizeof *names->of, compare);
	if (!found || found->told)
		return;
	found->told = true;
	if (found->wrapped)
		printf("-Wl,--wrap=%s,--undefined=%s ", symbol, symbol);
	else
		printf("-Wl,--undefined=%s ", symbol);
}

/* The index of an archive: how many symbols, where each is, their names. */
static bool read_index(FILE *in, struct names *names)
{
	char magic[8], header[HEADER], symbol[512];
	uint32_t count;
	bool archive =
		fread(magic, 8, 1, in) == 1 && (!memcmp(magic, "!<arch>\n", 8) || !memcmp(magic, "!<thin>\n", 8));
	if (!archive || fread(header, HEADER, 1, in) != 1 || memcmp(header, "/ ", 2) != 0)
		return false;
	if (fread(&count, sizeof count, 1, in) != 1 || fseek(in, (long)be32toh(count) * 4, SEEK_CUR) != 0)
		return false;
	for (uint32_t i = be32toh(count); i; i--) {
		size_t n = 0;
		int c;
		while ((c = getc(in)) > 0)
			if (n < sizeof symbol - 1)
				symbol[n++] = (char)c;
		if (c == EOF)
			return false;
		symbol[n] = '\0';
		tell(names, symbol);
	}
	return true;
}

static int tell_archive(struct names *names, const char *path)
{
	FILE *in = fopen(path, "r");
	if (!in)
		return cli_fail(CLI_INPUT, "config: %s: %s", path, strerror(errno));
	bool good = read_index(in, names);
	fclose(in);
	return good ? CLI_OK
		    : cli_fail(CLI_INPUT, "config: %s: no archive with an index: give static libraries (libmpich.a)",
			       path);
}

/* Libs follows: the flags, in one line. */
static void print_head(char **archives)
{
	printf("Name: iolens\nDescription: iolens linked into a program");
	for (char **a = archives; *a; a++)
		printf("%s%s", a == archives ? " with " : ", ", *a);
	printf("\nVersion: %s\nLibs: ", IOLENS_VERSION);
}

int link_flags_static(char **archives, bool package)
{
	static struct names names;
	char library[PATH_MAX], wrap[PATH_MAX + 16], list[PATH_MAX + 16];
	if (!preload_find_static(library, sizeof library))
		return cli_fail(CLI_INPUT, "config: libiolens.a is not in this program's installation: in a clone "
					   "`make install PREFIX=DIR` installs it, for DIR/bin/iolens config");
	if (!can_be_told(library))
		return cannot_be_told(library);
	if (!beside(wrap, sizeof wrap, library, "iolens.wrap") || !beside(list, sizeof list, library, "iolens.names"))
		return CLI_INPUT;
	int code = *archives ? read_names(list, &names) : CLI_OK;
	if (code == CLI_OK && package)
		print_head(archives);
	for (; *archives && code == CLI_OK; archives++)
		code = tell_archive(&names, *archives);
	if (code == CLI_OK)
		printf("-Wl,@%s %s\n", wrap, library);
	return code;
}

int link_flags_dynamic(void)
{
	char library[PATH_MAX];
	if (!preload_find(library, sizeof library) || !strchr(library, '/'))
		return cli_fail(
			CLI_INPUT,
			"config: libiolens.so is not in this program's installation: set IOLENS_PRELOAD to its path");
	if (!can_be_told(library))
		return cannot_be_told(library);
	printf("-Wl,--push-state,--no-as-needed %s -Wl,--pop-state -Wl,-rpath,%.*s\n", library,
	       (int)(strrchr(library, '/') - library), library);
	return CLI_OK;
}
