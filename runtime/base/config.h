/*
 * Settings. Precedence: default < file named by IOLENS_CONFIG_PATH < environment. Every setting has an
 * IOLENS_ and a DARSHAN_ name; IOLENS_ wins. The table in config.c is the only list of them.
 *
 * A bad value is a warning and leaves the setting as it was; nothing here stops or delays a program.
 */
#ifndef IOLENS_CONFIG_H
#define IOLENS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter.h"
#include "schema.h"

/* Seconds since the job's start; accesses that begin in it. */
struct config_window {
	double from, to;
};

/* All calls; of many fast ones only some; of many only some, however slow they are. */
enum config_times { TIMES_EXACT, TIMES_SAMPLED, TIMES_ALWAYS_SAMPLED };

struct config {
	bool disable;
	bool nonmpi;
	bool dump;
	bool group_readable;
	bool verbose;
	const char *config_path;
	const char *session;
	const char *session_shared;
	const char *session_others;
	const char *epoch;
	const char *logfile;
	const char *logpath;
	const char *tmpdir;
	const char *jobid; /* name of the variable that holds the job's id */
	const char *log_hints;
	int64_t budget;       /* bytes of records and names */
	bool trace;           /* modules of traces are on unless disabled */
	bool trace_compact;   /* the log has them in its trailer alone, not as Darshan's segments, too */
	int64_t trace_budget; /* bytes of accesses; when they are used up */
	bool trace_newest;    /* the newest accesses replace the oldest, else these stay */
	struct config_window trace_window;
	double trace_small,
		trace_unaligned; /* shares of a file's accesses below which its trace is left out of the log */
	bool sites;              /* where files are opened is recorded */
	const char *ranges;      /* "off": not even waits for data loaders are phases */
	enum config_times times; /* which calls take the clock */
	int64_t max_records[LOG_MOD_COUNT]; /* 0 = as many as the budget holds */
	int64_t alignment;                  /* bytes, test value for buffers */
	double finalize_timeout;            /* s */
	const char *finalize;
	const char *abandoned;
	const char *lustre_type; /* type of mounts that stand for Lustre; NULL = none */
	uint32_t disabled;       /* bit per module id */
	uint32_t enabled;
	struct filter_pair app;  /* against the first word of the command line */
	struct filter_pair name; /* against file names, per module */
	struct filter_pair rank;
	struct filter mask_args; /* arguments that are stored as *** */
};

extern struct config config __attribute__((visibility("hidden")));

void config_load(char **environment);

/* The value of a variable in an environment, or NULL. clearenv() leaves no environment: NULL. */
const char *config_variable(char **environment, const char *name);

static inline bool config_module_on(int module)
{
	uint32_t bit = UINT32_C(1) << module;
	return !(config.disabled & bit) || config.enabled & bit;
}

/* The same for a module of traces, which are off by default. */
bool config_traced(int module);
bool config_traces(void);

/* Bytes of accesses that a process keeps; 0 = none are traced. */
size_t config_trace_room(void);

/* Prints every setting, where it came from, and what was wrong. */
void config_print(void (*print)(const char *text, size_t n));

#endif
