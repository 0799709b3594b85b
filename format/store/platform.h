/*
 * What a node is, as one of its processes writes it once, as text: no I/O but of /proc and /sys, nothing of the environment but the
 * variables of a table. Lines end with a newline, their words are separated by tabs:
 *
 *	host	<unit: empty>	<name of the node>		the first line
 *	<name>	<unit>		<value>				with a unit: a whole number, or two with / between them
 *	mount	<point>	<type>	<source>	<options>
 */
#ifndef IOLENS_PLATFORM_H
#define IOLENS_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLATFORM_TEXT = 8192 };

#define PLATFORM_FILE "platform" /* beside stores: what `iolens run` says of its node */

struct platform_source {
	/* The first n bytes of a file; returns how many, below 0 where it cannot be read. */
	long (*read)(const char *path, char *to, size_t n);
	/* NULL = not set. */
	const char *(*variable)(void *environment, const char *name);
	void *environment;
	const char *host;
};

/* Returns the length; the text has a NUL behind it. Not for two threads at once. */
size_t platform_describe(const struct platform_source *from, char to[PLATFORM_TEXT]);

/*
 * The number of the scheduler's job, 0 = there is none. `name` is the variable that holds it, NULL = that of the first scheduler
 * which has set its own.
 */
int64_t platform_job(const struct platform_source *from, const char *name);

/* Of what begins with a number, as 12.pbs or 12[3].pbs, or as Flux writes it: an f and base 58. 0: of neither. */
int64_t platform_job_number(const char *text);

/* A file system that holds no data of a job. */
bool platform_pseudo(const char *type);

#endif
