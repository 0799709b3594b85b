/* Wide characters and lines of them. They count as the bytes that they are in the file. */
#include "wrap.h"

#include <errno.h>
#include <wchar.h>

#include "record.h"

static int64_t wide_one(wint_t c)
{
	char room[64];
	mbstate_t state = {0};
	if (c == WEOF)
		return STDIO_NOTHING;
	int saved = errno;
	size_t n = wcrtomb(room, (wchar_t)c, &state);
	errno = saved;
	return n == (size_t)-1 ? 1 : (int64_t)n;
}

static int64_t wide_length(const wchar_t *line)
{
	mbstate_t state = {0};
	const wchar_t *at = line;
	if (!line)
		return STDIO_NOTHING;
	int saved = errno;
	size_t n = wcsrtombs(NULL, &at, 0, &state);
	errno = saved;
	return (int64_t)(n == (size_t)-1 ? wcslen(line) : n);
}

/* ---- characters ---- */

WRAP(wint_t, fgetwc, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	wint_t c = REAL(fgetwc)(f);
	if (s.stream)
		stdio_on_read(s, f, wide_one(c));
	return c;
}
ALIAS(getwc, fgetwc);

WRAP(wint_t, fgetwc_unlocked, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	wint_t c = REAL(fgetwc_unlocked)(f);
	if (s.stream)
		stdio_on_read(s, f, wide_one(c));
	return c;
}
ALIAS(getwc_unlocked, fgetwc_unlocked);

WRAP(wint_t, getwchar, void)
{
	return wrap_fgetwc(stdin);
}

WRAP(wint_t, getwchar_unlocked, void)
{
	return wrap_fgetwc_unlocked(stdin);
}

WRAP(wint_t, fputwc, wchar_t c, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	wint_t done = REAL(fputwc)(c, f);
	if (s.stream)
		stdio_on_write(s, f, wide_one(done));
	return done;
}
ALIAS(putwc, fputwc);

WRAP(wint_t, fputwc_unlocked, wchar_t c, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	wint_t done = REAL(fputwc_unlocked)(c, f);
	if (s.stream)
		stdio_on_write(s, f, wide_one(done));
	return done;
}
ALIAS(putwc_unlocked, fputwc_unlocked);

WRAP(wint_t, putwchar, wchar_t c)
{
	return wrap_fputwc(c, stdout);
}

WRAP(wint_t, putwchar_unlocked, wchar_t c)
{
	return wrap_fputwc_unlocked(c, stdout);
}

WRAP(wint_t, ungetwc, wint_t c, FILE *f)
{
	struct stdio_stream *stream = stdio_watched(f);
	wint_t pushed = REAL(ungetwc)(c, f);
	if (stream)
		stdio_on_unget(stream, f, wide_one(pushed));
	return pushed;
}

/* ---- lines ---- */

static void on_line_read(struct stdio_span s, FILE *f, const wchar_t *line)
{
	if (s.stream)
		stdio_on_read(s, f, wide_length(line));
}

WRAP(wchar_t *, fgetws, wchar_t *to, int n, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	wchar_t *line = REAL(fgetws)(to, n, f);
	on_line_read(s, f, line);
	return line;
}

WRAP(wchar_t *, fgetws_unlocked, wchar_t *to, int n, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	wchar_t *line = REAL(fgetws_unlocked)(to, n, f);
	on_line_read(s, f, line);
	return line;
}

WRAP(wchar_t *, __fgetws_chk, wchar_t *to, size_t room, int n, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	wchar_t *line = REAL(__fgetws_chk)(to, room, n, f);
	on_line_read(s, f, line);
	return line;
}

WRAP(wchar_t *, __fgetws_unlocked_chk, wchar_t *to, size_t room, int n, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	wchar_t *line = REAL(__fgetws_unlocked_chk)(to, room, n, f);
	on_line_read(s, f, line);
	return line;
}

static void on_line_written(struct stdio_span s, FILE *f, const wchar_t *line, int result)
{
	if (s.stream)
		stdio_on_write(s, f, result >= 0 ? wide_length(line) : STDIO_NOTHING);
}

WRAP(int, fputws, const wchar_t *line, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	int result = REAL(fputws)(line, f);
	on_line_written(s, f, line, result);
	return result;
}

WRAP(int, fputws_unlocked, const wchar_t *line, FILE *f)
{
	struct stdio_span s = stdio_span(f);
	int result = REAL(fputws_unlocked)(line, f);
	on_line_written(s, f, line, result);
	return result;
}
