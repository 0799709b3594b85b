/*
 * Tables that libc reads entry by entry from a stream which the program opened: mounts, users, groups. An entry counts as one
 * read of all that it took, comments before it included. A statically linked libc makes these of functions that are wrapped.
 */
#include "wrap.h"

#include <grp.h>
#include <gshadow.h>
#include <mntent.h>
#include <pwd.h>
#include <shadow.h>

#include "record.h"
#include "site.h"

#ifndef IOLENS_LINKED

WRAP(FILE *, setmntent, const char *path, const char *mode)
{
	struct span s = span_path();
	FILE *f = REAL(setmntent)(path, mode);
	SITE(stdio_on_open(s, f, path, mode));
	return f;
}
ALIAS(__setmntent, setmntent);

WRAP(int, endmntent, FILE *f)
{
	struct stdio_span s = stdio_span_close(f);
	int result = REAL(endmntent)(f);
	stdio_on_close(s, 0);
	return result;
}
ALIAS(__endmntent, endmntent);

/* A call that returns an entry: parameters and arguments in brackets, `f` among them. */
#define ENTRY(type, name, parameters, arguments)              \
	WRAP(type *, name, UNPACK parameters)                 \
	{                                                     \
		struct stdio_moving m = stdio_span_moving(f); \
		type *got = REAL(name) arguments;             \
		stdio_on_scan(m, f, got != NULL);             \
		return got;                                   \
	}

/* The same for one that returns an error number. */
#define ENTRY_TO(type, name)                                                    \
	WRAP(int, name, FILE *f, type *to, char *text, size_t room, type **got) \
	{                                                                       \
		struct stdio_moving m = stdio_span_moving(f);                   \
		int error = REAL(name)(f, to, text, room, got);                 \
		stdio_on_scan(m, f, !error);                                    \
		return error;                                                   \
	}
#define UNPACK(...) __VA_ARGS__

ENTRY(struct mntent, getmntent, (FILE * f), (f))
ENTRY(struct mntent, getmntent_r, (FILE * f, struct mntent *to, char *text, int room), (f, to, text, room))
ALIAS(__getmntent_r, getmntent_r);

ENTRY(struct passwd, fgetpwent, (FILE * f), (f))
ENTRY(struct group, fgetgrent, (FILE * f), (f))
ENTRY(struct spwd, fgetspent, (FILE * f), (f))
ENTRY(struct sgrp, fgetsgent, (FILE * f), (f))
ENTRY_TO(struct passwd, fgetpwent_r)
ENTRY_TO(struct group, fgetgrent_r)
ENTRY_TO(struct spwd, fgetspent_r)
ENTRY_TO(struct sgrp, fgetsgent_r)

#endif
