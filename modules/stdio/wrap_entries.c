/*
 * What libc reads or writes at once on a stream which the program opened: an entry of a table of mounts, users or groups, an
 * account of memory, the same character many times. It counts as one read of all that it took, comments before it included, or as
 * one write. A statically linked libc makes these of functions that are wrapped.
 */
#include "wrap.h"

#include <grp.h>
#include <gshadow.h>
#include <malloc.h>
#include <mntent.h>
#include <pwd.h>
#include <shadow.h>

#include "record.h"
#include "site.h"
#include "sys.h"

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

/* ---- old names ---- */

WRAP(size_t, _IO_sgetn, FILE *f, void *to, size_t n)
{
	struct stdio_span s = stdio_span_read(f, n);
	size_t got = REAL(_IO_sgetn)(f, to, n);
	stdio_on_items(s, f, IO_READ, 1, n, got);
	return got;
}

WRAP(ssize_t, _IO_padn, FILE *f, int character, ssize_t n)
{
	struct stdio_span s = stdio_span_write(f, n > 0 ? (size_t)n : 0);
	ssize_t done = REAL(_IO_padn)(f, character, n);
	stdio_on_write(s, f, done > 0 ? done : STDIO_NOTHING);
	return done;
}

/* ---- written ---- */

/* A write of which only the stream's position tells the bytes, and where there is none, its buffer. */
struct putting {
	struct stdio_span span;
	int64_t at;      /* -1: it has none */
	int64_t waiting; /* bytes in the buffer */
};

static struct putting putting(FILE *f)
{
	struct putting p = {stdio_span(f), -1, 0};
	if (p.span.stream && p.span.stream->file)
		p.at = stdio_tell(p.span.stream, f);
	if (p.span.stream)
		p.waiting = f->_IO_write_ptr - f->_IO_write_base;
	return p;
}

static void on_put(struct putting p, FILE *f, bool done)
{
	if (!p.span.stream)
		return;
	int64_t now = p.at >= 0 ? stdio_tell(p.span.stream, f) : f->_IO_write_ptr - f->_IO_write_base;
	int64_t moved = now - (p.at >= 0 ? p.at : p.waiting);
	if (p.at >= 0)
		p.span.stream->offset = p.at;
	stdio_on_write(p.span, f, done && moved > 0 ? moved : STDIO_NOTHING);
}

#define PUT(name, parameters, arguments)           \
	WRAP(int, name, UNPACK parameters)         \
	{                                          \
		struct putting p = putting(f);     \
		int result = REAL(name) arguments; \
		on_put(p, f, result == 0);         \
		return result;                     \
	}

PUT(putpwent, (const struct passwd *user, FILE *f), (user, f))
PUT(putgrent, (const struct group *group, FILE *f), (group, f))
PUT(putspent, (const struct spwd *user, FILE *f), (user, f))
PUT(putsgent, (const struct sgrp *group, FILE *f), (group, f))
PUT(malloc_info, (int options, FILE *f), (options, f))

/* It goes to the end first. */
WRAP(int, addmntent, FILE *f, const struct mntent *mount)
{
	struct putting p = putting(f);
	struct stat s;
	if (p.at >= 0 && sys_fstat(f->_fileno, &s) == 0 && s.st_size > p.at)
		p.at = s.st_size;
	int result = REAL(addmntent)(f, mount);
	on_put(p, f, result == 0);
	return result;
}

#endif
