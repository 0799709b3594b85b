#include "zone.h"

#include <stdbool.h>
#include <string.h>

enum { HEAD = 44, HOUR = 3600, DAY = 86400 };

/* One block of the file: its numbers have 4 bytes in the first, 8 in the second, which all but the oldest files have. */
struct block {
	const uint8_t *times, *kinds, *types, *end;
	uint32_t transitions, type_count;
	int width;
};

static uint32_t u32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t time_at(const struct block *b, uint32_t i)
{
	const uint8_t *at = b->times + (size_t)i * (size_t)b->width;
	return b->width == 4 ? (int32_t)u32(at) : (int64_t)((uint64_t)u32(at) << 32 | u32(at + 4));
}

static bool block_at(struct block *b, const uint8_t *head, const uint8_t *end, int width)
{
	enum { UT, STANDARD, LEAPS, TRANSITIONS, TYPES, LETTERS, COUNTS };
	uint64_t n[COUNTS];
	if (end - head < HEAD || memcmp(head, "TZif", 4) != 0)
		return false;
	for (int i = 0; i < COUNTS; i++)
		n[i] = u32(head + 20 + 4 * i);
	uint64_t most = (uint64_t)(end - head), bytes = HEAD + n[TRANSITIONS] * (uint64_t)(width + 1) + n[TYPES] * 6 +
							n[LETTERS] + n[LEAPS] * (uint64_t)(width + 4) + n[STANDARD] +
							n[UT];
	if (bytes > most || !n[TYPES])
		return false;
	b->times = head + HEAD;
	b->kinds = b->times + n[TRANSITIONS] * (uint64_t)width;
	b->types = b->kinds + n[TRANSITIONS];
	b->end = head + bytes;
	b->transitions = (uint32_t)n[TRANSITIONS];
	b->type_count = (uint32_t)n[TYPES];
	b->width = width;
	return true;
}

static int64_t offset_of(const struct block *b, uint32_t type)
{
	return type < b->type_count ? (int32_t)u32(b->types + (size_t)type * 6) : 0;
}

/* ---- the rule for all times behind the last transition: "CET-1CEST,M3.5.0,M10.5.0/3" ---- */

static int64_t number(const char **at)
{
	int64_t v = 0;
	for (; **at >= '0' && **at <= '9' && v < 100000; ++*at)
		v = v * 10 + (**at - '0');
	return v;
}

static void skip_name(const char **at)
{
	if (**at == '<') {
		while (**at && **at != '>')
			++*at;
		*at += **at == '>';
	} else {
		while ((**at | 32) >= 'a' && (**at | 32) <= 'z')
			++*at;
	}
}

static int64_t seconds(const char **at)
{
	bool minus = **at == '-';
	*at += minus || **at == '+';
	int64_t s = number(at) * HOUR;
	for (int unit = 60; unit && **at == ':'; unit /= 60) {
		++*at;
		s += number(at) * unit;
	}
	return minus ? -s : s;
}

static bool is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from 1970 to the first of the year. */
static int64_t days_before(int64_t year)
{
	int64_t y = year - 1;
	return 365 * (year - 1970) + (y / 4 - y / 100 + y / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
}

static int64_t day_of_month_rule(const char **at, int64_t year)
{
	static const int first[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
	int64_t month = number(at), week = (*at += **at == '.', number(at)), weekday = (*at += **at == '.', number(at));
	month = month < 1 ? 1 : month > 12 ? 12 : month;
	int64_t begin = days_before(year) + first[month - 1] + (month > 2 && is_leap(year));
	int64_t length = first[month] - first[month - 1] + (month == 2 && is_leap(year));
	int64_t day = (weekday - (begin + 4) % 7 + 7) % 7 + 7 * (week - 1); /* 1970 began with a Thursday */
	return begin + (day >= length ? day - 7 : day);
}

/* When daylight saving time begins or ends in a year, in seconds since 1970 of the clock that is shown until then. */
static int64_t change(const char **at, int64_t year)
{
	int64_t day, time = 2 * HOUR;
	*at += **at == ',';
	if (**at == 'M') {
		++*at;
		day = day_of_month_rule(at, year);
	} else if (**at == 'J') { /* from 1, without February 29 */
		++*at;
		day = number(at);
		day = days_before(year) + day - 1 + (is_leap(year) && day > 59);
	} else {
		day = days_before(year) + number(at);
	}
	if (**at == '/') {
		++*at;
		time = seconds(at);
	}
	return day * DAY + time;
}

static int64_t year_of(int64_t at)
{
	int64_t day = (at - (at % DAY + DAY) % DAY) / DAY, year = 1970 + day / 366;
	while (days_before(year + 1) <= day)
		year++;
	return year;
}

static int64_t offset_by_rule(const char *rule, int64_t at)
{
	skip_name(&rule);
	int64_t standard = -seconds(&rule), summer = standard + HOUR;
	if (!*rule)
		return standard;
	skip_name(&rule);
	if (*rule && *rule != ',')
		summer = -seconds(&rule);
	int64_t year = year_of(at + standard);
	int64_t begin = change(&rule, year) - standard, end = change(&rule, year) - summer;
	bool is_summer = begin < end ? at >= begin && at < end : at >= begin || at < end;
	return is_summer ? summer : standard;
}

static bool read_rule(const struct block *b, const uint8_t *end, char *rule, size_t room)
{
	size_t n = 0;
	const uint8_t *at = b->end;
	if (at == end || *at++ != '\n')
		return false;
	for (; at < end && *at != '\n' && n + 1 < room; at++)
		rule[n++] = (char)*at;
	rule[n] = '\0';
	return n;
}

int64_t zone_offset(const uint8_t *file, size_t n, int64_t at)
{
	struct block b;
	const uint8_t *end = file + n;
	char rule[80];
	uint32_t i = 0;
	if (!block_at(&b, file, end, 4))
		return 0;
	bool whole = file[4] >= '2' && block_at(&b, b.end, end, 8);
	while (i < b.transitions && time_at(&b, i) <= at)
		i++;
	if (i && i == b.transitions && whole && read_rule(&b, end, rule, sizeof rule))
		return offset_by_rule(rule, at);
	if (i)
		return offset_of(&b, b.kinds[i - 1]);
	while (i < b.type_count && b.types[i * 6 + 4])
		i++; /* the first that is no daylight saving time */
	return offset_of(&b, i < b.type_count ? i : 0);
}
