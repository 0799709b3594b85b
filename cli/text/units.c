#include "units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *units_bytes(char text[UNITS_TEXT], double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	int u = 0;
	while (fabs(bytes) >= 1023.95 && u < 6) {
		bytes /= 1024;
		u++;
	}
	snprintf(text, UNITS_TEXT, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
	return text;
}

char *units_count(char text[UNITS_TEXT], int64_t n)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%lld", (long long)n), at = 0;
	for (int i = 0; i < length; i++) {
		if (i > (n < 0) && (length - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}

/* As plural() of python/iolens/rules/text.py. */
char *units_plural(char text[UNITS_COUNTED], const char *noun)
{
	size_t n = strlen(noun);
	char last = n ? noun[n - 1] : '\0', before = n > 1 ? noun[n - 2] : '\0';
	bool hisses = last == 's' || last == 'x' || (last == 'h' && (before == 'c' || before == 's'));
	bool changes = last == 'y' && before && !strchr("aeiou", before);
	snprintf(text, UNITS_COUNTED, "%.*s%s", (int)(changes ? n - 1 : n), noun,
		 changes  ? "ies"
		 : hisses ? "es"
			  : "s");
	return text;
}

char *units_counted(char text[UNITS_COUNTED], int64_t n, const char *noun)
{
	char count[UNITS_TEXT], more[UNITS_COUNTED];
	snprintf(text, UNITS_COUNTED, "%s %.60s", units_count(count, n), n == 1 ? noun : units_plural(more, noun));
	return text;
}

const char *units_agree(int64_t n, const char *one, const char *more)
{
	return n == 1 ? one : more;
}

/* As "percent" of python/iolens/rules/text.py: one number looks the same in the summary, a finding and the report. */
char *units_percent(char text[UNITS_TEXT], double share)
{
	double percent = 100 * share;
	if (percent > 0 && percent < 0.1)
		snprintf(text, UNITS_TEXT, "less than 0.1 %%");
	else
		snprintf(text, UNITS_TEXT, "%.*f %%", percent < 9.95, percent);
	return text;
}

char *units_seconds(char text[UNITS_TEXT], double seconds)
{
	if (seconds <= 0)
		snprintf(text, UNITS_TEXT, "0 s");
	else if (seconds >= 100)
		snprintf(text, UNITS_TEXT, "%.1f s", seconds);
	else if (seconds >= 0.999995)
		snprintf(text, UNITS_TEXT, "%.3f s", seconds);
	else if (seconds >= 0.99995e-3)
		snprintf(text, UNITS_TEXT, "%.2f ms", seconds * 1e3);
	else
		snprintf(text, UNITS_TEXT, "%.1f us", seconds * 1e6);
	return text;
}
