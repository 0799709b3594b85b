#include "note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sys.h"

void note(const char *format, ...)
{
	char line[2048] = "iolens: ";
	size_t n = strlen(line);
	va_list list;
	va_start(list, format);
	vsnprintf(line + n, sizeof line - n - 1, format, list);
	va_end(list);
	n = strlen(line);
	line[n++] = '\n';
	sys_write(STDERR_FILENO, line, n);
}
