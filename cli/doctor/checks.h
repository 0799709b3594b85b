/* What iolens doctor has found: a line for each thing it looked at. */
#ifndef IOLENS_CHECKS_H
#define IOLENS_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

enum check_result { CHECK_OK, CHECK_NOTE, CHECK_PROBLEM, CHECK_RESULTS };

struct check {
	const char *about; /* installation, settings, ... */
	const char *name;
	enum check_result result;
	char text[1024];
};

struct checks {
	struct check *list;
	size_t n, room, of[CHECK_RESULTS];
	const char *about; /* of those that are added from now on */
};

void checks_add(struct checks *c, enum check_result result, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

void checks_print(const struct checks *c, bool json);
void checks_free(struct checks *c);

#endif
