/*
 * Settings. Precedence: default < file named by IOLENS_CONFIG_PATH < environment. Every setting has an
 * IOLENS_ and a DARSHAN_ name; IOLENS_ wins. The table in config.c is the only list of them.
 *
 * A bad value is a warning and leaves the setting as it was; nothing here stops or delays a program.
 */
#ifndef IOLENS_CONFIG_H
#define IOLENS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "filter.h"
#include "schema.h"

struct config {
	bool disable;
	bool nonmpi;
	bool dump;
	bool group_readable;
	const char *config_path;
	const char *session;
	const char *session_shared;
	const char *epoch;
	const char *logfile;
	const char *logpath;
	const char *tmpdir;
	const char *jobid; /* name of the variable that holds the job's id */
	const char *log_hints;
	int64_t budget;                     /* bytes of records and names */
	int64_t max_records[LOG_MOD_COUNT]; /* 0 = as many as the budget holds */
	int64_t alignment;                  /* bytes, test value for buffers */
	double finalize_timeout;            /* s */
	const char *finalize;
	uint32_t disabled; /* bit per module id */
	uint32_t enabled;
	struct filter_pair app;  /* against the first word of the command line */
	struct filter_pair name; /* against file names, per module */
	struct filter_pair rank;
	struct filter mask_args; /* arguments that are stored as *** */
};

extern struct config config;

void config_load(char **environment);

/* The value of a variable in an environment, or NULL. */
const char *config_variable(char **environment, const char *name);

bool config_module_on(int module);

/* Prints every setting, where it came from, and what was wrong, on a descriptor. */
void config_print(int fd);

#endif
