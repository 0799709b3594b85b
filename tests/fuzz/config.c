/* libFuzzer target: a configuration file, or (where it begins with '=') the values of settings in the environment. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "config.h"

/* ---- memory that is given back after each input ---- */

enum { BLOCKS = 65536 };

static void *blocks[BLOCKS];
static int nblocks;

void *arena_take(size_t n)
{
	return nblocks < BLOCKS ? blocks[nblocks++] = calloc(1, n) : NULL;
}

char *arena_copy(const char *text, size_t n)
{
	char *copy = arena_take(n + 1);
	if (copy)
		memcpy(copy, text, n);
	return copy;
}

static void give_back(void)
{
	while (nblocks)
		free(blocks[--nblocks]);
}

/* ---- inputs ---- */

static void from_file(const uint8_t *data, size_t size)
{
	static int fd;
	char path[64];
	if (!fd)
		fd = memfd_create("config", 0);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) < 0)
		abort();
	snprintf(path, sizeof path, "IOLENS_CONFIG_PATH=/proc/self/fd/%d", fd);
	config_load((char *[]){path, NULL});
}

static void from_environment(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *variables[34] = {0}, *at = text;
	memcpy(text, data, size);
	text[size] = '\0';
	for (int n = 0; n < 32 && at; n++)
		variables[n] = strsep(&at, "\n");
	config_load(variables);
	free(text);
}

static int null = -1;

static void print(const char *text, size_t n)
{
	if (write(null, text, n) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config defaults;
	static int calls;
	if (!calls++) {
		defaults = config;
		null = memfd_create("out", 0);
	}
	config = defaults;
	if (size && *data == '=')
		from_environment(data + 1, size - 1);
	else
		from_file(data, size);
	if (calls % 64 == 0)
		config_print(print);
	filter_hits(&config.name.exclude, 1, "/scratch/some/path/to/a/file.dat");
	filter_hits(&config.mask_args, 0, "--password=secret");
	filter_hits_number(&config.rank.exclude, 5);
	give_back();
	if (ftruncate(null, 0) != 0)
		abort();
	return 0;
}
