#include "shown.h"

#include <string.h>

#include "output.h"

enum { LINE = 16384 };

void shown_put(FILE *out, const char *text)
{
	char shown[OUTPUT_SHOWN];
	while (*text) {
		text += output_next(text, shown);
		fputs(shown, out);
	}
}

void shown_copy(char *to, size_t room, const char *text)
{
	char shown[OUTPUT_SHOWN];
	*to = '\0';
	for (size_t used = 0; *text; used += strlen(shown)) {
		text += output_next(text, shown);
		if (used + strlen(shown) >= room)
			break;
		strcpy(to + used, shown);
	}
}

bool shown_hides(const char *text)
{
	char shown[OUTPUT_SHOWN];
	while (*text) {
		size_t n = output_next(text, shown);
		if (strncmp(text, shown, n) != 0 || shown[n])
			return true;
		text += n;
	}
	return false;
}

void shown_vline(FILE *out, const char *format, va_list list)
{
	char text[LINE];
	vsnprintf(text, sizeof text, format, list);
	shown_put(out, text);
	fputc('\n', out);
}

void shown_line(FILE *out, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	shown_vline(out, format, list);
	va_end(list);
}
