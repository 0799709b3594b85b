#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "records.h"
#include "schema.h"
#include "sys.h"

enum { MIB = 1 << 20, FILE_MAX = 64 * 1024 };

struct config config = {
	.budget = 4 * MIB,
	.alignment = 8,
};

typedef void setter(void *field, const char *value);

static void set_flag(void *field, const char *value)
{
	(void)value;
	*(bool *)field = true;
}

static void set_text(void *field, const char *value)
{
	*(const char **)field = arena_copy(value, strlen(value));
}

/* A positive number, fractions allowed; anything else leaves the setting as it was. */
static bool number(const char *value, double *out)
{
	double sum = 0, unit = 1;
	bool point = false, digits = false;
	for (; *value; value++) {
		if (*value == '.' && !point) {
			point = true;
			continue;
		}
		if (*value < '0' || *value > '9')
			return false;
		digits = true;
		if (point)
			sum += (*value - '0') * (unit /= 10);
		else
			sum = sum * 10 + (*value - '0');
	}
	*out = sum;
	return digits && sum < 1e12;
}

static void set_bytes(void *field, const char *value)
{
	double v;
	if (number(value, &v) && v >= 1)
		*(int64_t *)field = (int64_t)v;
}

static void set_mebibytes(void *field, const char *value)
{
	double v;
	if (number(value, &v) && v * MIB >= 64 * 1024 && v <= 1024 * 1024)
		*(int64_t *)field = (int64_t)(v * MIB);
}

static uint32_t module_bit(const char *name, size_t n)
{
	uint32_t bits = 0;
	for (int m = 0; m < LOG_MOD_COUNT; m++)
		if (n == strlen(schema_modules[m].name) && memcmp(name, schema_modules[m].name, n) == 0)
			bits |= UINT32_C(1) << m;
	return n == 1 && *name == '*' ? UINT32_MAX : bits;
}

static void set_modules(void *field, const char *value)
{
	while (*value) {
		size_t n = strcspn(value, ",");
		*(uint32_t *)field |= module_bit(value, n);
		value += n + (value[n] == ',');
	}
}

struct setting {
	const char *name; /* after IOLENS_ or DARSHAN_, and as a key of the file */
	const char *key;  /* the key's other spelling, or NULL */
	size_t offset;
	setter *set;
};

#define FIELD(f) offsetof(struct config, f)

static const struct setting settings[] = {
	{"DISABLE", NULL, FIELD(disable), set_flag},
	{"ENABLE_NONMPI", NULL, FIELD(nonmpi), set_flag},
	{"CONFIG_PATH", NULL, FIELD(config_path), set_text},
	{"SESSION", NULL, FIELD(session), set_text},
	{"EPOCH", NULL, FIELD(epoch), set_text},
	{"LOGFILE", NULL, FIELD(logfile), set_text},
	{"LOGPATH", NULL, FIELD(logpath), set_text},
	{"TMPDIR", NULL, FIELD(tmpdir), set_text},
	{"MMAP_LOGPATH", NULL, FIELD(tmpdir), set_text},
	{"JOBID", NULL, FIELD(jobid), set_text},
	{"BUDGET", NULL, FIELD(budget), set_mebibytes},
	{"MODMEM", NULL, FIELD(budget), set_mebibytes},
	{"MEMALIGN", "MEM_ALIGNMENT", FIELD(alignment), set_bytes},
	{"MOD_DISABLE", NULL, FIELD(disabled), set_modules},
	{"MOD_ENABLE", NULL, FIELD(enabled), set_modules},
};

static const struct setting *setting_named(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		const struct setting *s = &settings[i];
		if (strlen(s->name) == n && memcmp(s->name, name, n) == 0)
			return s;
		if (s->key && strlen(s->key) == n && memcmp(s->key, name, n) == 0)
			return s;
	}
	return NULL;
}

static void apply(const struct setting *s, const char *value)
{
	if (s)
		s->set((char *)&config + s->offset, value);
}

static void load_environment(char **environment, const char *prefix)
{
	size_t n = strlen(prefix);
	for (char **e = environment; *e; e++) {
		const char *equals = strchr(*e, '=');
		if (equals && strncmp(*e, prefix, n) == 0)
			apply(setting_named(*e + n, (size_t)(equals - *e) - n), equals + 1);
	}
}

static void load_line(char *line)
{
	line += strspn(line, " \t");
	size_t n = strcspn(line, " \t");
	char *value = line + n + strspn(line + n, " \t");
	value[strcspn(value, " \t\r")] = '\0';
	if (*line != '#')
		apply(setting_named(line, n), value);
}

static void load_file(const char *path)
{
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	char *text = fd >= 0 ? arena_take(FILE_MAX + 1) : NULL;
	ssize_t got = text ? sys_read(fd, text, FILE_MAX) : 0;
	if (fd >= 0)
		sys_close(fd);
	for (char *at = text; got > 0 && *at;) {
		size_t n = strcspn(at, "\n");
		char *next = at + n + (at[n] == '\n');
		at[n] = '\0';
		load_line(at);
		at = next;
	}
}

const char *config_variable(char **environment, const char *name)
{
	size_t n = strlen(name);
	for (char **e = environment; *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

void config_load(char **environment)
{
	const char *path = config_variable(environment, "IOLENS_CONFIG_PATH");
	path = path ? path : config_variable(environment, "DARSHAN_CONFIG_PATH");
	if (path)
		load_file(path);
	load_environment(environment, "DARSHAN_");
	load_environment(environment, "IOLENS_");
}

bool config_module_on(int module)
{
	uint32_t bit = UINT32_C(1) << module;
	return !(config.disabled & bit) || config.enabled & bit;
}
