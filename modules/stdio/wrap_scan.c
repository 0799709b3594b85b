/*
 * Formatted input: four forms for each dialect of the conversions (a program's C standard chooses) and
 * width of the format's characters. All call the same form of libc.
 */
#include "wrap.h"

#include <stdarg.h>
#include <wchar.h>

#include "record.h"

#define WRAP_VFSCANF(character, symbol)                                   \
	WRAP(int, symbol, FILE *f, const character *format, va_list list) \
	{                                                                 \
		struct stdio_moving m = stdio_span_moving(f);             \
		int n = REAL(symbol)(f, format, list);                    \
		stdio_on_scan(m, f, n);                                   \
		return n;                                                 \
	}

#define WRAP_FSCANF(character, symbol, v_form)                   \
	WRAP(int, symbol, FILE *f, const character *format, ...) \
	{                                                        \
		va_list list;                                    \
		va_start(list, format);                          \
		int n = wrap_##v_form(f, format, list);          \
		va_end(list);                                    \
		return n;                                        \
	}

#define WRAP_VSCANF(character, symbol, v_form)                   \
	WRAP(int, symbol, const character *format, va_list list) \
	{                                                        \
		return wrap_##v_form(stdin, format, list);       \
	}

#define WRAP_SCANF(character, symbol, v_form)               \
	WRAP(int, symbol, const character *format, ...)     \
	{                                                   \
		va_list list;                               \
		va_start(list, format);                     \
		int n = wrap_##v_form(stdin, format, list); \
		va_end(list);                               \
		return n;                                   \
	}

WRAP_VFSCANF(char, vfscanf)
WRAP_FSCANF(char, fscanf, vfscanf)
WRAP_VSCANF(char, vscanf, vfscanf)
WRAP_SCANF(char, scanf, vfscanf)
ALIAS_OF_LIBC(__vfscanf, vfscanf);

WRAP_VFSCANF(wchar_t, vfwscanf)
WRAP_FSCANF(wchar_t, fwscanf, vfwscanf)
WRAP_VSCANF(wchar_t, vwscanf, vfwscanf)
WRAP_SCANF(wchar_t, wscanf, vfwscanf)

WRAP_VFSCANF(char, __isoc99_vfscanf)
WRAP_FSCANF(char, __isoc99_fscanf, __isoc99_vfscanf)
WRAP_VSCANF(char, __isoc99_vscanf, __isoc99_vfscanf)
WRAP_SCANF(char, __isoc99_scanf, __isoc99_vfscanf)

WRAP_VFSCANF(wchar_t, __isoc99_vfwscanf)
WRAP_FSCANF(wchar_t, __isoc99_fwscanf, __isoc99_vfwscanf)
WRAP_VSCANF(wchar_t, __isoc99_vwscanf, __isoc99_vfwscanf)
WRAP_SCANF(wchar_t, __isoc99_wscanf, __isoc99_vfwscanf)

WRAP_VFSCANF(char, __isoc23_vfscanf)
WRAP_FSCANF(char, __isoc23_fscanf, __isoc23_vfscanf)
WRAP_VSCANF(char, __isoc23_vscanf, __isoc23_vfscanf)
WRAP_SCANF(char, __isoc23_scanf, __isoc23_vfscanf)

WRAP_VFSCANF(wchar_t, __isoc23_vfwscanf)
WRAP_FSCANF(wchar_t, __isoc23_fwscanf, __isoc23_vfwscanf)
WRAP_VSCANF(wchar_t, __isoc23_vwscanf, __isoc23_vfwscanf)
WRAP_SCANF(wchar_t, __isoc23_wscanf, __isoc23_vfwscanf)
