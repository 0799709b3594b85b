#include "name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Of any alphabet: a byte of UTF-8 beyond ASCII. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c);
}

void range_name(char out[RANGE_NAME], const char *prefix, const char *text)
{
	size_t used = strnlen(prefix, RANGE_NAME / 2);
	char before = '\0';
	memcpy(out, prefix, used);
	for (text = text ? text : ""; *text && used < RANGE_NAME - 1;) {
		size_t digits = strspn(text, "0123456789");
		bool number = digits && !is_word(before) && !is_letter(text[digits]);
		size_t n = digits ? digits : 1;
		for (size_t i = 0; i < (number ? 1 : n) && used < RANGE_NAME - 1; i++)
			out[used++] = number ? '#' : text[i];
		before = text[n - 1];
		text += n;
	}
	out[used] = '\0';
}

void range_name_wide(char out[RANGE_NAME], const char *prefix, const wchar_t *text)
{
	char narrow[4 * RANGE_NAME + 4];
	size_t used = 0;
	for (; text && *text && used < sizeof narrow - 4; text++) {
		uint32_t c = (uint32_t)*text;
		int more = (c > 0x7f) + (c > 0x7ff) + (c > 0xffff);
		narrow[used++] = (char)(more ? (0xff00 >> (more + 1) & 0xff) | c >> 6 * more : c);
		while (more-- > 0)
			narrow[used++] = (char)(0x80 | (c >> 6 * more & 0x3f));
	}
	narrow[used] = '\0';
	range_name(out, prefix, narrow);
}
