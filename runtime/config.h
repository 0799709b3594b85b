/*
 * Settings. Precedence: default < file named by IOLENS_CONFIG_PATH < environment. Every setting has an
 * IOLENS_ and a DARSHAN_ name; IOLENS_ wins. The table in config.c is the only list of them.
 */
#ifndef IOLENS_CONFIG_H
#define IOLENS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct config {
	bool disable;
	bool nonmpi;
	const char *config_path;
	const char *session;
	const char *epoch;
	const char *logfile;
	const char *logpath;
	const char *tmpdir;
	const char *jobid; /* name of the variable that holds the job's id */
	int64_t budget;    /* bytes of records and names */
	int64_t alignment; /* bytes, test value for buffers */
	uint32_t disabled; /* bit per module id */
	uint32_t enabled;
};

extern struct config config;

void config_load(char **environment);

/* The value of a variable in an environment, or NULL. */
const char *config_variable(char **environment, const char *name);

bool config_module_on(int module);

#endif
