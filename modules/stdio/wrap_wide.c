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

/* No two of these are the same in libc: getwc and putwc do not mind the orientation that fgetwc and fputwc ask for. */
#define WRAP_GET(symbol, parameters, on, arguments)        \
	WRAP(wint_t, symbol, parameters)                   \
	{                                                  \
		struct stdio_span s = stdio_span(on);      \
		wint_t c = REAL(symbol) arguments;         \
		if (s.stream)                              \
			stdio_on_read(s, on, wide_one(c)); \
		return c;                                  \
	}

#define WRAP_PUT(symbol, parameters, on, arguments)            \
	WRAP(wint_t, symbol, UNPACK parameters)                \
	{                                                      \
		struct stdio_span s = stdio_span(on);          \
		wint_t done = REAL(symbol) arguments;          \
		if (s.stream)                                  \
			stdio_on_write(s, on, wide_one(done)); \
		return done;                                   \
	}
#define UNPACK(...) __VA_ARGS__

WRAP_GET(fgetwc, FILE *f, f, (f))
WRAP_GET(fgetwc_unlocked, FILE *f, f, (f))
WRAP_GET(getwc, FILE *f, f, (f))
WRAP_GET(getwc_unlocked, FILE *f, f, (f))
WRAP_GET(getwchar, void, stdin, ())
WRAP_GET(getwchar_unlocked, void, stdin, ())

WRAP_PUT(fputwc, (wchar_t c, FILE *f), f, (c, f))
WRAP_PUT(fputwc_unlocked, (wchar_t c, FILE *f), f, (c, f))
WRAP_PUT(putwc, (wchar_t c, FILE *f), f, (c, f))
WRAP_PUT(putwc_unlocked, (wchar_t c, FILE *f), f, (c, f))
WRAP_PUT(putwchar, (wchar_t c), stdout, (c))
WRAP_PUT(putwchar_unlocked, (wchar_t c), stdout, (c))

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
