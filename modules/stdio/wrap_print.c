/* Formatted output. The wrappers call the v forms of libc, which call no wrapper. */
#include "wrap.h"

#include <stdarg.h>
#include <wchar.h>

#include "../posix/record.h"
#include "record.h"

/* Nothing printed is no write. */
static int64_t printed(int n)
{
	return n > 0 ? n : STDIO_NOTHING;
}

#define WITH_ARGUMENTS(last, call)    \
	({                            \
		va_list list;         \
		va_start(list, last); \
		int result = call;    \
		va_end(list);         \
		result;               \
	})

WRAP(int, vfprintf, FILE *f, const char *format, va_list list)
{
	struct stdio_span s = stdio_span(f);
	int n = REAL(vfprintf)(f, format, list);
	stdio_on_write(s, f, printed(n));
	return n;
}
ALIAS_OF_LIBC(_IO_vfprintf, vfprintf);

WRAP(int, fprintf, FILE *f, const char *format, ...)
{
	struct stdio_span s = stdio_span(f);
	int n = WITH_ARGUMENTS(format, REAL(vfprintf)(f, format, list));
	stdio_on_write(s, f, printed(n));
	return n;
}
ALIAS_OF_LIBC(_IO_fprintf, fprintf);

WRAP(int, vprintf, const char *format, va_list list)
{
	struct stdio_span s = stdio_span(stdout);
	int n = REAL(vfprintf)(stdout, format, list);
	stdio_on_write(s, stdout, printed(n));
	return n;
}

WRAP(int, printf, const char *format, ...)
{
	struct stdio_span s = stdio_span(stdout);
	int n = WITH_ARGUMENTS(format, REAL(vfprintf)(stdout, format, list));
	stdio_on_write(s, stdout, printed(n));
	return n;
}
ALIAS_OF_LIBC(_IO_printf, printf);

WRAP(int, __vfprintf_chk, FILE *f, int flag, const char *format, va_list list)
{
	struct stdio_span s = stdio_span(f);
	int n = REAL(__vfprintf_chk)(f, flag, format, list);
	stdio_on_write(s, f, printed(n));
	return n;
}

WRAP(int, __fprintf_chk, FILE *f, int flag, const char *format, ...)
{
	struct stdio_span s = stdio_span(f);
	int n = WITH_ARGUMENTS(format, REAL(__vfprintf_chk)(f, flag, format, list));
	stdio_on_write(s, f, printed(n));
	return n;
}

WRAP(int, __vprintf_chk, int flag, const char *format, va_list list)
{
	struct stdio_span s = stdio_span(stdout);
	int n = REAL(__vfprintf_chk)(stdout, flag, format, list);
	stdio_on_write(s, stdout, printed(n));
	return n;
}

WRAP(int, __printf_chk, int flag, const char *format, ...)
{
	struct stdio_span s = stdio_span(stdout);
	int n = WITH_ARGUMENTS(format, REAL(__vfprintf_chk)(stdout, flag, format, list));
	stdio_on_write(s, stdout, printed(n));
	return n;
}

/* ---- to a descriptor: libc writes it at once, so it is a write of POSIX ---- */

WRAP(int, vdprintf, int fd, const char *format, va_list list)
{
	struct span s = span_fd(fd);
	int n = REAL(vdprintf)(fd, format, list);
	posix_on_write(s, NULL, AT_CURSOR, printed(n));
	return n;
}

WRAP(int, dprintf, int fd, const char *format, ...)
{
	struct span s = span_fd(fd);
	int n = WITH_ARGUMENTS(format, REAL(vdprintf)(fd, format, list));
	posix_on_write(s, NULL, AT_CURSOR, printed(n));
	return n;
}

WRAP(int, __vdprintf_chk, int fd, int flag, const char *format, va_list list)
{
	struct span s = span_fd(fd);
	int n = REAL(__vdprintf_chk)(fd, flag, format, list);
	posix_on_write(s, NULL, AT_CURSOR, printed(n));
	return n;
}

WRAP(int, __dprintf_chk, int fd, int flag, const char *format, ...)
{
	struct span s = span_fd(fd);
	int n = WITH_ARGUMENTS(format, REAL(__vdprintf_chk)(fd, flag, format, list));
	posix_on_write(s, NULL, AT_CURSOR, printed(n));
	return n;
}

/* ---- wide characters ---- */

WRAP(int, vfwprintf, FILE *f, const wchar_t *format, va_list list)
{
	struct stdio_moving m = stdio_span_moving(f);
	int n = REAL(vfwprintf)(f, format, list);
	stdio_on_print_wide(m, f, n);
	return n;
}

WRAP(int, fwprintf, FILE *f, const wchar_t *format, ...)
{
	struct stdio_moving m = stdio_span_moving(f);
	int n = WITH_ARGUMENTS(format, REAL(vfwprintf)(f, format, list));
	stdio_on_print_wide(m, f, n);
	return n;
}

WRAP(int, vwprintf, const wchar_t *format, va_list list)
{
	struct stdio_moving m = stdio_span_moving(stdout);
	int n = REAL(vfwprintf)(stdout, format, list);
	stdio_on_print_wide(m, stdout, n);
	return n;
}

WRAP(int, wprintf, const wchar_t *format, ...)
{
	struct stdio_moving m = stdio_span_moving(stdout);
	int n = WITH_ARGUMENTS(format, REAL(vfwprintf)(stdout, format, list));
	stdio_on_print_wide(m, stdout, n);
	return n;
}

WRAP(int, __vfwprintf_chk, FILE *f, int flag, const wchar_t *format, va_list list)
{
	struct stdio_moving m = stdio_span_moving(f);
	int n = REAL(__vfwprintf_chk)(f, flag, format, list);
	stdio_on_print_wide(m, f, n);
	return n;
}

WRAP(int, __fwprintf_chk, FILE *f, int flag, const wchar_t *format, ...)
{
	struct stdio_moving m = stdio_span_moving(f);
	int n = WITH_ARGUMENTS(format, REAL(__vfwprintf_chk)(f, flag, format, list));
	stdio_on_print_wide(m, f, n);
	return n;
}

WRAP(int, __vwprintf_chk, int flag, const wchar_t *format, va_list list)
{
	struct stdio_moving m = stdio_span_moving(stdout);
	int n = REAL(__vfwprintf_chk)(stdout, flag, format, list);
	stdio_on_print_wide(m, stdout, n);
	return n;
}

WRAP(int, __wprintf_chk, int flag, const wchar_t *format, ...)
{
	struct stdio_moving m = stdio_span_moving(stdout);
	int n = WITH_ARGUMENTS(format, REAL(__vfwprintf_chk)(stdout, flag, format, list));
	stdio_on_print_wide(m, stdout, n);
	return n;
}
