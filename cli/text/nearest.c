#include "nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64 };

static int least(int a, int b)
{
	return a < b ? a : b;
}

static int lower(char c)
{
	return tolower((unsigned char)c);
}

int nearest_distance(const char *a, const char *b, int bound)
{
	int rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *row = rows[2];
	size_t n = strlen(a), m = strlen(b);
	if (n > LONGEST || m > LONGEST)
		return bound + 1;
	for (size_t j = 0; j <= m; j++)
		last[j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			int replaced = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
			row[j] = least(replaced, 1 + least(last[j], row[j - 1]));
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
		int *oldest = before;
		before = last;
		last = row;
		row = oldest;
	}
	return least(last[m], bound + 1);
}

const char *nearest(const char *word, const char *(*name)(const void *context, size_t i), const void *context)
{
	const char *candidate;
	int best = LONGEST;
	size_t found = 0;
	for (size_t i = 0; (candidate = name(context, i)); i++) {
		int bound = ((int)strlen(candidate) + 2) / 3;
		int distance = nearest_distance(word, candidate, bound);
		if (distance > bound || distance >= best)
			continue;
		best = distance;
		found = i;
	}
	return best < LONGEST ? name(context, found) : NULL;
}

const char *nearest_hint(char hint[NEAREST_HINT], const char *word, const char *(*name)(const void *context, size_t i),
			 const void *context, const char *otherwise)
{
	const char *meant = *word ? nearest(word, name, context) : NULL;
	if (!meant)
		return otherwise;
	snprintf(hint, NEAREST_HINT, "did you mean %s?", meant);
	return hint;
}
