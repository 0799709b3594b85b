/* Opening, closing, moving in, and reading and writing blocks and characters of streams. */
#include "site.h"
#include "wrap.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "../posix/record.h"
#include "life.h"
#include "record.h"

/* ---- open and close ---- */

WRAP(FILE *, fopen, const char *path, const char *mode)
{
	struct span s = span_path();
	FILE *f = REAL(fopen)(path, mode);
	SITE(stdio_on_open(s, f, path, mode));
	return f;
}
ALIAS_OF_LIBC(_IO_fopen, fopen);

WRAP(FILE *, fopen64, const char *path, const char *mode)
{
	struct span s = span_path();
	FILE *f = REAL(fopen64)(path, mode);
	SITE(stdio_on_open(s, f, path, mode));
	return f;
}

WRAP(FILE *, fdopen, int fd, const char *mode)
{
	struct span s = span_path();
	FILE *f = REAL(fdopen)(fd, mode);
	SITE(stdio_on_fdopen(s, f, fd));
	return f;
}
ALIAS_OF_LIBC(_IO_fdopen, fdopen);

WRAP(FILE *, freopen, const char *path, const char *mode, FILE *f)
{
	struct stdio_span s = stdio_span_close(f);
	struct span opened = span_path();
	FILE *again = REAL(freopen)(path, mode, f);
	SITE(stdio_on_reopen(s, opened, again, path, mode));
	return again;
}

WRAP(FILE *, freopen64, const char *path, const char *mode, FILE *f)
{
	struct stdio_span s = stdio_span_close(f);
	struct span opened = span_path();
	FILE *again = REAL(freopen64)(path, mode, f);
	SITE(stdio_on_reopen(s, opened, again, path, mode));
	return again;
}

WRAP(FILE *, tmpfile, void)
{
	struct span s = span_path();
	FILE *f = REAL(tmpfile)();
	SITE(stdio_on_tmpfile(s, f));
	return f;
}
ALIAS(tmpfile64, tmpfile);

WRAP(FILE *, popen, const char *command, const char *mode)
{
	struct span s = span_path();
	life_share(); /* the command may move the offsets of what it inherits */
	FILE *f = REAL(popen)(command, mode);
	stdio_on_popen(s, f);
	return f;
}
ALIAS_OF_LIBC(_IO_popen, popen);

WRAP(int, fclose, FILE *f)
{
	struct stdio_span s = stdio_span_close(f);
	int result = REAL(fclose)(f);
	stdio_on_close(s, result);
	return result;
}
ALIAS_OF_LIBC(_IO_fclose, fclose);

WRAP(int, pclose, FILE *f)
{
	struct stdio_span s = stdio_span_close(f);
	int result = REAL(pclose)(f);
	stdio_on_close(s, result);
	return result;
}

/* From here on the program may use the descriptor: POSIX gets a record of the stream's file. */
WRAP(int, fileno, FILE *f)
{
	struct span s = span_path();
	int fd = REAL(fileno)(f);
	SITE(posix_on_fileno(s, fd, stdio_shared_name(f)));
	return fd;
}
ALIAS(fileno_unlocked, fileno);

/* ---- flush and seek ---- */

WRAP(int, fflush, FILE *f)
{
	struct stdio_span s = stdio_span_flush(f);
	int result = REAL(fflush)(f);
	stdio_on_flush(s, f, result);
	return result;
}
ALIAS_OF_LIBC(_IO_fflush, fflush);

WRAP(int, fflush_unlocked, FILE *f)
{
	struct stdio_span s = stdio_span_flush(f);
	int result = REAL(fflush_unlocked)(f);
	stdio_on_flush(s, f, result);
	return result;
}

WRAP(int, fseek, FILE *f, long to, int whence)
{
	struct stdio_span s = stdio_span(f);
	int result = REAL(fseek)(f, to, whence);
	stdio_on_seek(s, f, to, whence, result);
	return result;
}
ALIAS(fseeko, fseek);
ALIAS(fseeko64, fseek);

WRAP(int, fsetpos, FILE *f, const fpos_t *to)
{
	struct stdio_span s = stdio_span(f);
	int result = REAL(fsetpos)(f, to);
	stdio_on_seek(s, f, 0, STDIO_ASK, result);
	return result;
}
ALIAS(fsetpos64, fsetpos);
ALIAS_OF_LIBC(_IO_fsetpos, fsetpos);
ALIAS_OF_LIBC(_IO_fsetpos64, fsetpos);

WRAP(void, rewind, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	REAL(rewind)(f);
	stdio_on_seek(s, f, 0, SEEK_SET, 0);
}

/* ---- blocks ---- */

WRAP(size_t, fread, void *to, size_t size, size_t n, FILE *f)
{
	struct stdio_span s = stdio_span_read(f, size * n);
	size_t got = REAL(fread)(to, size, n, f);
	stdio_on_items(s, f, IO_READ, size, n, got);
	return got;
}
ALIAS_OF_LIBC(_IO_fread, fread);

WRAP(size_t, fread_unlocked, void *to, size_t size, size_t n, FILE *f)
{
	struct stdio_span s = stdio_span_read(f, size * n);
	size_t got = REAL(fread_unlocked)(to, size, n, f);
	stdio_on_items(s, f, IO_READ, size, n, got);
	return got;
}

WRAP(size_t, __fread_chk, void *to, size_t room, size_t size, size_t n, FILE *f)
{
	struct stdio_span s = stdio_span_read(f, size * n);
	size_t got = REAL(__fread_chk)(to, room, size, n, f);
	stdio_on_items(s, f, IO_READ, size, n, got);
	return got;
}

WRAP(size_t, __fread_unlocked_chk, void *to, size_t room, size_t size, size_t n, FILE *f)
{
	struct stdio_span s = stdio_span_read(f, size * n);
	size_t got = REAL(__fread_unlocked_chk)(to, room, size, n, f);
	stdio_on_items(s, f, IO_READ, size, n, got);
	return got;
}

WRAP(size_t, fwrite, const void *from, size_t size, size_t n, FILE *f)
{
	struct stdio_span s = stdio_span_write(f, size * n);
	size_t done = REAL(fwrite)(from, size, n, f);
	stdio_on_items(s, f, IO_WRITE, size, n, done);
	return done;
}
ALIAS_OF_LIBC(_IO_fwrite, fwrite);

WRAP(size_t, fwrite_unlocked, const void *from, size_t size, size_t n, FILE *f)
{
	struct stdio_span s = stdio_span_write(f, size * n);
	size_t done = REAL(fwrite_unlocked)(from, size, n, f);
	stdio_on_items(s, f, IO_WRITE, size, n, done);
	return done;
}

/* ---- characters in ---- */

static int64_t one(int c)
{
	return c == EOF ? STDIO_NOTHING : 1;
}

WRAP(int, fgetc, FILE *f)
{
	struct stdio_span s = stdio_span_read(f, 1);
	int c = REAL(fgetc)(f);
	stdio_on_read(s, f, one(c));
	return c;
}
ALIAS(getc, fgetc);
ALIAS(_IO_getc, fgetc);

WRAP(int, fgetc_unlocked, FILE *f)
{
	struct stdio_span s = stdio_span_read(f, 1);
	int c = REAL(fgetc_unlocked)(f);
	stdio_on_read(s, f, one(c));
	return c;
}
ALIAS(getc_unlocked, fgetc_unlocked);

WRAP(int, getchar, void)
{
	struct stdio_span s = stdio_span_read(stdin, 1);
	int c = REAL(getchar)();
	stdio_on_read(s, stdin, one(c));
	return c;
}

WRAP(int, getchar_unlocked, void)
{
	struct stdio_span s = stdio_span_read(stdin, 1);
	int c = REAL(getchar_unlocked)();
	stdio_on_read(s, stdin, one(c));
	return c;
}

/* What getc_unlocked calls when it is inside the program and the buffer is used up. */
WRAP(int, __uflow, FILE *f)
{
	if (STDIO_INSIDE(f))
		return REAL(__uflow)(f);
	stdio_on_inlined(f);
	struct stdio_span s = stdio_span_read(f, 1);
	int c = REAL(__uflow)(f);
	stdio_on_read(s, f, one(c));
	return c;
}

/* EOF is also a value that a word can have. */
WRAP(int, getw, FILE *f)
{
	struct stdio_span s = stdio_span_read(f, sizeof(int));
	int word = REAL(getw)(f);
	bool failed = word == EOF && (feof_unlocked(f) || ferror_unlocked(f));
	stdio_on_read(s, f, failed ? STDIO_NOTHING : (int64_t)sizeof word);
	return word;
}

WRAP(int, ungetc, int c, FILE *f)
{
	struct stdio_stream *stream = stdio_watched(f);
	int pushed = REAL(ungetc)(c, f);
	stdio_on_unget(stream, f, one(pushed));
	return pushed;
}
ALIAS_OF_LIBC(_IO_ungetc, ungetc);

/* ---- lines in ---- */

static int64_t length(const char *line)
{
	return line ? (int64_t)strlen(line) : STDIO_NOTHING;
}

/*
 * A line may hold NUL: it ends behind its newline, or fills the room. At the end of the file and after an error it may do
 * neither, and what stands behind its first NUL is not looked for.
 */
static int64_t line_length(const char *line, int n, FILE *f)
{
	if (!line || feof_unlocked(f) || ferror_unlocked(f))
		return length(line);
	const char *end = memchr(line, '\n', (size_t)n - 1);
	return end ? end + 1 - line : n - 1;
}

WRAP(char *, fgets, char *to, int n, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	char *line = REAL(fgets)(to, n, f);
	if (s.stream)
		stdio_on_read(s, f, line_length(line, n, f));
	return line;
}
ALIAS_OF_LIBC(_IO_fgets, fgets);

WRAP(char *, fgets_unlocked, char *to, int n, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	char *line = REAL(fgets_unlocked)(to, n, f);
	if (s.stream)
		stdio_on_read(s, f, line_length(line, n, f));
	return line;
}

WRAP(char *, __fgets_chk, char *to, size_t room, int n, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	char *line = REAL(__fgets_chk)(to, room, n, f);
	if (s.stream)
		stdio_on_read(s, f, line_length(line, n, f));
	return line;
}

WRAP(char *, __fgets_unlocked_chk, char *to, size_t room, int n, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	char *line = REAL(__fgets_unlocked_chk)(to, room, n, f);
	if (s.stream)
		stdio_on_read(s, f, line_length(line, n, f));
	return line;
}

/* The newline is read but not delivered. */
static int64_t gets_length(const char *line)
{
	return line ? length(line) + !feof_unlocked(stdin) : STDIO_NOTHING;
}

WRAP(char *, gets, char *to)
{
	struct stdio_span s = stdio_span(stdin);
	char *line = REAL(gets)(to);
	if (s.stream)
		stdio_on_read(s, stdin, gets_length(line));
	return line;
}
ALIAS_OF_LIBC(_IO_gets, gets);

WRAP(char *, __gets_chk, char *to, size_t room)
{
	struct stdio_span s = stdio_span(stdin);
	char *line = REAL(__gets_chk)(to, room);
	if (s.stream)
		stdio_on_read(s, stdin, gets_length(line));
	return line;
}

WRAP(ssize_t, getdelim, char **line, size_t *room, int delimiter, FILE *f)
{
	if (STDIO_INSIDE(f))
		return REAL(getdelim)(line, room, delimiter, f);
	struct stdio_span s = stdio_span(f);
	ssize_t got = REAL(getdelim)(line, room, delimiter, f);
	stdio_on_read(s, f, got);
	return got;
}
ALIAS(__getdelim, getdelim);

WRAP(ssize_t, getline, char **line, size_t *room, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	ssize_t got = REAL(getline)(line, room, f);
	stdio_on_read(s, f, got);
	return got;
}

/* ---- characters and lines out ---- */

WRAP(int, fputc, int c, FILE *f)
{
	struct stdio_span s = stdio_span_write(f, 1);
	int done = REAL(fputc)(c, f);
	stdio_on_write(s, f, one(done));
	return done;
}
ALIAS(putc, fputc);
ALIAS(_IO_putc, fputc);

WRAP(int, fputc_unlocked, int c, FILE *f)
{
	struct stdio_span s = stdio_span_write(f, 1);
	int done = REAL(fputc_unlocked)(c, f);
	stdio_on_write(s, f, one(done));
	return done;
}
ALIAS(putc_unlocked, fputc_unlocked);

WRAP(int, putchar, int c)
{
	struct stdio_span s = stdio_span_write(stdout, 1);
	int done = REAL(putchar)(c);
	stdio_on_write(s, stdout, one(done));
	return done;
}

WRAP(int, putchar_unlocked, int c)
{
	struct stdio_span s = stdio_span_write(stdout, 1);
	int done = REAL(putchar_unlocked)(c);
	stdio_on_write(s, stdout, one(done));
	return done;
}

/* What putc_unlocked calls when it is inside the program and the buffer is full. */
WRAP(int, __overflow, FILE *f, int c)
{
	if (STDIO_INSIDE(f))
		return REAL(__overflow)(f, c);
	stdio_on_inlined(f);
	struct stdio_span s = stdio_span_write(f, 1);
	int done = REAL(__overflow)(f, c);
	stdio_on_write(s, f, one(done));
	return done;
}

WRAP(int, putw, int word, FILE *f)
{
	struct stdio_span s = stdio_span_write(f, sizeof word);
	int result = REAL(putw)(word, f);
	stdio_on_write(s, f, result == 0 ? (int64_t)sizeof word : STDIO_NOTHING);
	return result;
}

WRAP(int, fputs, const char *line, FILE *f)
{
	size_t n = strlen(line);
	struct stdio_span s = stdio_span_write(f, n);
	int result = REAL(fputs)(line, f);
	stdio_on_write(s, f, result >= 0 ? (int64_t)n : STDIO_NOTHING);
	return result;
}
ALIAS_OF_LIBC(_IO_fputs, fputs);

WRAP(int, fputs_unlocked, const char *line, FILE *f)
{
	size_t n = strlen(line);
	struct stdio_span s = stdio_span_write(f, n);
	int result = REAL(fputs_unlocked)(line, f);
	stdio_on_write(s, f, result >= 0 ? (int64_t)n : STDIO_NOTHING);
	return result;
}

WRAP(int, puts, const char *line)
{
	size_t n = strlen(line) + 1;
	struct stdio_span s = stdio_span_write(stdout, n);
	int result = REAL(puts)(line);
	stdio_on_write(s, stdout, result >= 0 ? (int64_t)n : STDIO_NOTHING);
	return result;
}
ALIAS_OF_LIBC(_IO_puts, puts);

/* "prefix: message\n", without the prefix where it is empty. */
static int64_t perror_length(const char *prefix, int error)
{
	char room[256];
	const char *message = strerror_r(error, room, sizeof room);
	return (int64_t)strlen(message) + 1 + (prefix && *prefix ? (int64_t)strlen(prefix) + 2 : 0);
}

WRAP(void, perror, const char *prefix)
{
	int error = errno;
	struct stdio_span s = stdio_span(stderr);
	REAL(perror)(prefix);
	if (s.stream)
		stdio_on_write(s, stderr, perror_length(prefix, error));
}
