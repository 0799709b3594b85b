#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "thread.h"
#include "schema.h"
#include "sys.h"

enum { MIB = 1 << 20, FILE_MAX = 64 * 1024, WARNINGS = 16, PLACE = 320 };

/* Written at the start, by the one thread that there is; every thread reads it. */
struct config config AT_START = {
	.budget = 4 * MIB,
	.trace_budget = 4 * MIB,
	.trace_window = {-1e300, 1e300},
	.alignment = 8,
	.sites = true,
	.times = TIMES_SAMPLED,
	.finalize_timeout = 30,
	.abandoned = "log",
	.log_hints = "romio_no_indep_rw=true;cb_nodes=4",
};

/* ---- setters: NULL, or what is wrong with the value ---- */

typedef const char *setter(void *field, const char *value);

static const char *set_flag(void *field, const char *value)
{
	(void)value;
	*(bool *)field = true;
	return NULL;
}

/* What is on unless it is turned off. */
static const char *set_on_off(void *field, const char *value)
{
	bool off = !strcmp(value, "0") || !strcmp(value, "off");
	if (!off && *value && strcmp(value, "1") != 0 && strcmp(value, "on") != 0)
		return "not one of on, off, 1, 0";
	*(bool *)field = !off;
	return NULL;
}

/* Whether accesses are traced. */
static const char *set_trace(void *field, const char *value)
{
	bool compact = !strcmp(value, "compact");
	if (set_on_off(field, compact ? "on" : value))
		return "not one of on, compact, off, 1, 0";
	config.trace_compact = compact;
	return NULL;
}

/* Set to nothing is not set. */
static const char *set_text(void *field, const char *value)
{
	*(const char **)field = *value ? arena_copy(value, strlen(value)) : NULL;
	return NULL;
}

/* A number of at least 0, fractions allowed. */
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

/* What becomes of an abandoned store. */
static const char *set_fate(void *field, const char *value)
{
	bool known = !strcmp(value, "log") || !strcmp(value, "remove") || !strcmp(value, "keep");
	return known ? set_text(field, value) : "not one of log, remove, keep";
}

static const char *set_bytes(void *field, const char *value)
{
	double v;
	if (!number(value, &v))
		return "not a number";
	*(int64_t *)field = v < 1 ? 1 : (int64_t)v;
	return NULL;
}

static const char *set_seconds(void *field, const char *value)
{
	double v;
	if (!number(value, &v))
		return "not a number of seconds";
	*(double *)field = v;
	return NULL;
}

/* Which accesses a full trace keeps. */
static const char *set_kept(void *field, const char *value)
{
	bool newest = !strcmp(value, "newest");
	if (!newest && strcmp(value, "oldest") != 0)
		return "not one of oldest, newest";
	*(bool *)field = newest;
	return NULL;
}

/* Whether fast calls take the clock. */
static const char *set_times(void *field, const char *value)
{
	static const char *const names[] = {"exact", "sampled", "always-sampled"};
	for (int i = 0; i < 3; i++)
		if (!strcmp(value, names[i])) {
			*(enum config_times *)field = (enum config_times)i;
			return NULL;
		}
	return "not one of sampled, exact, always-sampled";
}

static const char *set_share(void *field, const char *value)
{
	double v;
	if (!number(value, &v) || v > 1)
		return "not a number from 0 to 1";
	*(double *)field = v;
	return NULL;
}

/* One end of a window; nothing leaves it open. */
static bool moment(const char *text, size_t n, double *out)
{
	char copy[24];
	if (n >= sizeof copy)
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return !n || number(copy, out);
}

static const char *set_window(void *field, const char *value)
{
	struct config_window w = {-1e300, 1e300};
	const char *colon = strchr(value, ':');
	if (!colon || !moment(value, (size_t)(colon - value), &w.from) ||
	    !moment(colon + 1, strlen(colon + 1), &w.to) || w.from > w.to)
		return "not a time A:B in seconds";
	*(struct config_window *)field = w;
	return NULL;
}

static const char *set_mebibytes(void *field, const char *value)
{
	enum { LEAST = 64 * 1024, MOST = 1024 * 1024 };
	double v;
	if (!number(value, &v))
		return "not a number of MiB";
	if (v > MOST)
		return "more than a TiB";
	*(int64_t *)field = v * MIB < LEAST ? LEAST : (int64_t)(v * MIB);
	return NULL;
}

static uint32_t module_bit(const char *name, size_t n)
{
	for (int m = 0; m < LOG_MOD_COUNT; m++)
		if (n == strlen(schema_modules[m].name) && memcmp(name, schema_modules[m].name, n) == 0)
			return UINT32_C(1) << m;
	return n == 1 && *name == '*' ? UINT32_MAX : 0;
}

/* Comma-separated module names; 0 when one is unknown. */
static uint32_t module_bits(const char *names)
{
	uint32_t bits = 0;
	while (*names) {
		size_t n = strcspn(names, ",");
		uint32_t bit = module_bit(names, n);
		if (!bit)
			return 0;
		bits |= bit;
		names += n + (names[n] == ',');
	}
	return bits;
}

static const char *set_modules(void *field, const char *value)
{
	uint32_t bits = module_bits(value);
	*(uint32_t *)field |= bits;
	return bits ? NULL : "not a list of module names";
}

static const char *set_expressions(void *field, const char *value)
{
	return filter_add(field, value, UINT32_MAX);
}

static const char *set_ranges(void *field, const char *value)
{
	return filter_add_ranges(field, value);
}

/* <regex,regex> <module,module>; all modules where the second word is missing. */
static const char *set_names(void *field, const char *value)
{
	size_t n = strcspn(value, " \t");
	const char *modules = value + n + strspn(value + n, " \t");
	uint32_t bits = *modules ? module_bits(modules) : UINT32_MAX;
	char *expressions = arena_copy(value, n);
	if (!bits)
		return "not a list of module names";
	return expressions ? filter_add(field, expressions, bits) : "no memory";
}

/* <number> <module,module>; all modules where the second word is missing. */
static const char *set_records(void *field, const char *value)
{
	char digits[20];
	double v;
	size_t n = strcspn(value, " \t");
	const char *modules = value + n + strspn(value + n, " \t");
	uint32_t bits = *modules ? module_bits(modules) : UINT32_MAX;
	snprintf(digits, sizeof digits, "%.*s", (int)(n < sizeof digits ? n : sizeof digits - 1), value);
	if (!number(digits, &v) || v < 1 || n >= sizeof digits)
		return "not a number of records, 1 or more";
	if (!bits)
		return "not a list of module names";
	for (int m = 0; m < LOG_MOD_COUNT; m++)
		if (bits >> m & 1)
			((int64_t *)field)[m] = (int64_t)v;
	return NULL;
}

/* ---- the list ---- */

enum type {
	FLAG,
	ON_OFF,
	TIMES,
	TRACE,
	KEPT,
	SHARE,
	WINDOW,
	TEXT,
	FATE,
	BYTES,
	SECONDS,
	MEBIBYTES,
	MODULES,
	EXPRESSIONS,
	NAMES,
	RANGES,
	RECORDS
};

static setter *const setters[] = {
	[KEPT] = set_kept,       [SHARE] = set_share,         [WINDOW] = set_window,   [FLAG] = set_flag,
	[TRACE] = set_trace,     [TEXT] = set_text,           [FATE] = set_fate,       [BYTES] = set_bytes,
	[SECONDS] = set_seconds, [MEBIBYTES] = set_mebibytes, [MODULES] = set_modules, [EXPRESSIONS] = set_expressions,
	[NAMES] = set_names,     [RANGES] = set_ranges,       [RECORDS] = set_records, [ON_OFF] = set_on_off,
	[TIMES] = set_times,
};

/* Texts in place of pointers to them, which the linker would enter in each process, on a page more. */
struct setting {
	char name[20]; /* after IOLENS_ or DARSHAN_, and as a key of the file */
	char key[28];  /* the key's other spelling, or "" */
	uint16_t offset;
	uint8_t type;  /* enum type */
	char pair[16]; /* set in the environment, one of a pair clears what the file said of both */
	char about[112];
};

#define FIELD(f) offsetof(struct config, f)

static const struct setting settings[] = {
	{"DISABLE", "", FIELD(disable), FLAG, "", "observe nothing"},
	{"ENABLE_NONMPI", "", FIELD(nonmpi), FLAG, "", "observe programs without MPI outside a session too"},
	{"CONFIG_PATH", "", FIELD(config_path), TEXT, "", "configuration file"},
	{"SESSION", "", FIELD(session), TEXT, "", "directory of the session, set by iolens run"},
	{"SESSION_SHARED", "", FIELD(session_shared), TEXT, "", "the same for other nodes, set by iolens run"},
	{"SESSION_OTHERS", "", FIELD(session_others), TEXT, "", "the same for other users, set by iolens run of root"},
	{"EPOCH", "", FIELD(epoch), TEXT, "", "start of the session, set by iolens run"},
	{"LOGFILE", "", FIELD(logfile), TEXT, "", "path of the log, used as it is"},
	{"LOGPATH", "", FIELD(logpath), TEXT, "", "directory of logs, with or without year/month/day below it"},
	{"TMPDIR", "", FIELD(tmpdir), TEXT, "", "directory of the stores"},
	{"MMAP_LOGPATH", "", FIELD(tmpdir), TEXT, "", "the same, Darshan's name"},
	{"JOBID", "", FIELD(jobid), TEXT, "",
	 "name of the variable that holds the job's id; without it those of Slurm, PBS, LSF, Flux"},
	{"LOGHINTS", "LOG_HINTS", FIELD(log_hints), TEXT, "", "MPI-IO hints for writing the log"},
	{"FINALIZE", "", FIELD(finalize), TEXT, "", "deferred: leave the stores for iolens recover"},
	{"ABANDONED", "", FIELD(abandoned), FATE, "", "log, remove or keep stores of processes ended by a signal"},
	{"FINALIZE_TIMEOUT", "", FIELD(finalize_timeout), SECONDS, "", "seconds for the log in MPI_Finalize"},
	{"BUDGET", "", FIELD(budget), MEBIBYTES, "", "MiB of records and names per process"},
	{"MODMEM", "", FIELD(budget), MEBIBYTES, "", "the same, Darshan's name"},
	{"MAX_RECORDS", "", FIELD(max_records), RECORDS, "", "most records of a module [modules]; more are folded"},
	{"TRACE", "", FIELD(trace), TRACE, "", "record every access, too: on, compact, off"},
	{"TRACE_BUDGET", "", FIELD(trace_budget), MEBIBYTES, "", "MiB of traced accesses per process"},
	{"TRACE_KEEP", "", FIELD(trace_newest), KEPT, "", "oldest or newest: accesses that a full trace keeps"},
	{"TRACE_WINDOW", "", FIELD(trace_window), WINDOW, "", "A:B, in s since the start: accesses to trace"},
	{"TRACE_SMALL", "DXT_SMALL_IO_TRIGGER", FIELD(trace_small), SHARE, "",
	 "keep a file's trace if at least this share of its accesses has up to 10 KiB"},
	{"TRACE_UNALIGNED", "DXT_UNALIGNED_IO_TRIGGER", FIELD(trace_unaligned), SHARE, "",
	 "the same for accesses that are not aligned"},
	{"SITES", "", FIELD(sites), ON_OFF, "", "on, off: record which call opens a file first"},
	{"RANGES", "", FIELD(ranges), TEXT, "",
	 "phases from a program's ranges, as --ranges of iolens run; off: none from data loaders either"},
	{"TIMES", "", FIELD(times), TIMES, "",
	 "sampled: time some of many fast calls; exact: time all calls; always-sampled: time some of any calls"},
	{"LUSTRE_TYPE", "", FIELD(lustre_type), TEXT, "", "type of mounts to treat as Lustre, for tests"},
	{"MEMALIGN", "MEM_ALIGNMENT", FIELD(alignment), BYTES, "", "bytes, alignment to check buffers for"},
	{"MOD_DISABLE", "", FIELD(disabled), MODULES, "MOD_ENABLE", "modules not to record"},
	{"MOD_ENABLE", "", FIELD(enabled), MODULES, "MOD_DISABLE", "modules to record in any case"},
	{"APP_EXCLUDE", "", FIELD(app.exclude), EXPRESSIONS, "APP_INCLUDE", "programs not to observe"},
	{"APP_INCLUDE", "", FIELD(app.include), EXPRESSIONS, "APP_EXCLUDE", "programs to observe in any case"},
	{"NAME_EXCLUDE", "", FIELD(name.exclude), NAMES, "NAME_INCLUDE", "file names without records [modules]"},
	{"NAME_INCLUDE", "", FIELD(name.include), NAMES, "NAME_EXCLUDE", "file names with records in any case"},
	{"RANK_EXCLUDE", "", FIELD(rank.exclude), RANGES, "RANK_INCLUDE", "MPI ranks not to record"},
	{"RANK_INCLUDE", "", FIELD(rank.include), RANGES, "RANK_EXCLUDE", "MPI ranks to record in any case"},
	{"MASK_ARGS", "", FIELD(mask_args), EXPRESSIONS, "", "arguments of the command line to store as ***"},
	{"GROUP_READABLE", "", FIELD(group_readable), FLAG, "", "logs have mode 0440 instead of 0400"},
	{"VERBOSE", "", FIELD(verbose), FLAG, "", "also report processes that cannot write their log"},
	{"DUMP_CONFIG", "", FIELD(dump), FLAG, "", "print all settings on standard error"},
};

enum { SETTINGS = sizeof settings / sizeof *settings };

static const struct setting *setting_named(const char *name, size_t n)
{
	for (const struct setting *s = settings; s < settings + SETTINGS; s++) {
		if (strlen(s->name) == n && memcmp(s->name, name, n) == 0)
			return s;
		if (*s->key && strlen(s->key) == n && memcmp(s->key, name, n) == 0)
			return s;
	}
	return NULL;
}

/* ---- where values came from, and what was wrong ---- */

struct origin {
	char value[80];
	char place[PLACE]; /* empty: the default */
};

/* In a file, or the name of a variable. */
struct place {
	const char *name;
	int line; /* 0 = the file as a whole; -1 = a variable */
};

/* All of it is written and read at the start, by the one thread that there is. */
static struct account {
	struct origin origin[SETTINGS];
	char warning[WARNINGS][PLACE + 160];
	int warnings;
} * account AT_START; /* NULL: no user asks, by a file or the environment */

static void print_place(const struct place *p, char out[PLACE])
{
	if (p->line > 0)
		snprintf(out, PLACE, "%.300s:%d", p->name, p->line);
	else
		snprintf(out, PLACE, "%s%.*s", p->line ? "environment " : "",
			 p->line ? (int)strcspn(p->name, "=") : 300, p->name);
}

static void warn(const struct place *p, const char *name, const char *value, const char *what)
{
	char place[PLACE];
	if (!account || account->warnings == WARNINGS)
		return;
	print_place(p, place);
	snprintf(account->warning[account->warnings++], sizeof *account->warning,
		 *name ? "%s: %.40s %.40s: %s" : "%s: %s%s%s", place, name, value, what);
}

static void apply(const struct setting *s, const char *value, const struct place *p)
{
	const char *wrong = setters[s->type]((char *)&config + s->offset, value);
	if (wrong)
		warn(p, s->name, value, wrong);
	if (wrong || !account)
		return;
	struct origin *o = &account->origin[s - settings];
	snprintf(o->value, sizeof o->value, "%s", s->type == FLAG ? "on" : value);
	print_place(p, o->place);
}

/* ---- the environment ---- */

static void clear(const struct setting *s)
{
	static const struct config none;
	memcpy((char *)&config + s->offset, (const char *)&none + s->offset,
	       s->type == MODULES ? sizeof(uint32_t) : sizeof(struct filter));
	if (account)
		account->origin[s - settings] = (struct origin){0};
}

/* That a variable stands for, and its value. */
static const struct setting *setting_of(const char *variable, const char *prefix, const char **value)
{
	bool is = strncmp(variable, prefix, strlen(prefix)) == 0;
	const char *name = variable + (is ? strlen(prefix) : 0), *equals = is ? strchr(name, '=') : NULL;
	*value = equals ? equals + 1 : NULL;
	return equals ? setting_named(name, (size_t)(equals - name)) : NULL;
}

static void load_environment(char **environment, const char *prefix)
{
	const struct setting *s;
	const char *value;
	for (char **e = environment; e && *e;
	     e++) /* one of a pair is in the environment: the file's word on both is void */
		if (**e == *prefix && (s = setting_of(*e, prefix, &value)) && *s->pair) {
			clear(s);
			clear(setting_named(s->pair, strlen(s->pair)));
		}
	for (char **e = environment; e && *e; e++)
		if (**e == *prefix && (s = setting_of(*e, prefix, &value)))
			apply(s, value, &(struct place){*e, -1});
}

const char *config_variable(char **environment, const char *name)
{
	size_t n = strlen(name);
	for (char **e = environment; e && *e; e++)
		if (**e == *name && strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* ---- the file ---- */

/* Of no meaning here: no memory is reserved for names. */
static bool obsolete(const char *key, size_t n)
{
	static const char *const keys[] = {"NAMEMEM", "INTERNAL_TIMING", "DISABLE_SHARED_REDUCTION", "EXCLUDE_DIRS"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strlen(keys[i]) == n && memcmp(keys[i], key, n) == 0)
			return true;
	return false;
}

static void load_line(char *line, const char *path, int number)
{
	struct place place = {path, number};
	line += strspn(line, " \t\r");
	size_t n = strcspn(line, " \t\r");
	char *value = line + n + strspn(line + n, " \t\r");
	for (size_t end = strlen(value); end && strchr(" \t\r", value[end - 1]); end--)
		value[end - 1] = '\0';
	if (!n || *line == '#')
		return;
	const struct setting *s = setting_named(line, n);
	if (!s && !obsolete(line, n)) {
		line[n] = '\0';
		warn(&place, line, "", "no such setting");
	} else if (s) {
		if (s->type != NAMES && s->type != RECORDS)
			value[strcspn(value, " \t")] = '\0';
		apply(s, value, &place);
	}
}

/* Of a pipe or a terminal it would take what others wait for, and wait itself. */
static bool is_file(int fd)
{
	struct stat s;
	return fd >= 0 && sys_fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

static void load_file(const char *path)
{
	int fd = sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	char *text = is_file(fd) ? arena_take(FILE_MAX + 1) : NULL;
	ssize_t got = text ? sys_read(fd, text, FILE_MAX) : -1;
	if (fd >= 0)
		sys_close(fd);
	if (got < 0)
		warn(&(struct place){path, 0}, "", "", "cannot be read");
	int number = 0;
	for (char *at = text; got > 0 && *at;) {
		size_t n = strcspn(at, "\n");
		char *next = at + n + (at[n] == '\n');
		at[n] = '\0';
		load_line(at, path, ++number);
		at = next;
	}
}

#define SWITCH_OF_OLD "DXT_ENABLE_IO_TRACE" /* Darshan's, on whatever it is set to */
void config_load(char **environment)
{
	const char *path = config_variable(environment, "IOLENS_CONFIG_PATH");
	path = path ? path : config_variable(environment, "DARSHAN_CONFIG_PATH");
	bool asked = path || config_variable(environment, "IOLENS_DUMP_CONFIG") ||
		     config_variable(environment, "DARSHAN_DUMP_CONFIG");
	account = asked ? arena_take(sizeof *account) : NULL;
	if (path)
		load_file(path);
	load_environment(environment, "DARSHAN_");
	if (config_variable(environment, SWITCH_OF_OLD))
		apply(setting_named("TRACE", 5), "on", &(struct place){SWITCH_OF_OLD, -1});
	load_environment(environment, "IOLENS_");
}

bool config_traced(int module)
{
	uint32_t bit = UINT32_C(1) << module;
	return config.enabled & bit || (config.trace && !(config.disabled & bit));
}

bool config_traces(void)
{
	bool any = false;
	for (int n = 0; n < TRACE_COUNT; n++)
		any = any || config_traced(written_traces[n].module);
	return any;
}

/* MAX_RECORDS counts KiB where modules are those of traces, as for Darshan. */
size_t config_trace_room(void)
{
	int64_t kib = 0;
	for (int n = 0; n < TRACE_COUNT; n++)
		kib += config.max_records[written_traces[n].module];
	if (!config_traces())
		return 0;
	return (size_t)(kib && kib < INT64_C(1) << 30 ? kib * 1024 : config.trace_budget);
}

/* ---- showing it ---- */

static void default_value(const struct setting *s, char *out, size_t room)
{
	const char *field = (const char *)&config + s->offset;
	switch (s->type) {
	case FLAG:
	case TRACE:
		snprintf(out, room, "off");
		break;
	case ON_OFF:
		snprintf(out, room, "on");
		break;
	case TEXT:
	case FATE:
		snprintf(out, room, "%s", *(const char *const *)field ? *(const char *const *)field : "-");
		break;
	case KEPT:
		snprintf(out, room, "oldest");
		break;
	case SHARE:
		snprintf(out, room, "%g", *(const double *)field);
		break;
	case BYTES:
		snprintf(out, room, "%lld", (long long)*(const int64_t *)field);
		break;
	case SECONDS:
		snprintf(out, room, "%g", *(const double *)field);
		break;
	case MEBIBYTES:
		snprintf(out, room, "%g", (double)*(const int64_t *)field / MIB);
		break;
	default:
		snprintf(out, room, "-");
	}
}

void config_print(void (*print)(const char *text, size_t n))
{
	char line[PLACE + 256], value[80];
	for (const struct setting *s = settings; s < settings + SETTINGS; s++) {
		const struct origin *o = account ? &account->origin[s - settings] : &(struct origin){{0}, {0}};
		default_value(s, value, sizeof value);
		int n = snprintf(line, sizeof line, "%-16s %-24s %-32s # %s\n", s->name, *o->place ? o->value : value,
				 *o->place ? o->place : "default", s->about);
		print(line, (size_t)n);
	}
	for (int i = 0; account && i < account->warnings; i++) {
		int n = snprintf(line, sizeof line, "warning: %s\n", account->warning[i]);
		print(line, (size_t)n);
	}
}
