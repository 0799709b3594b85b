#include "hash.h"

#include <string.h>

struct state {
	uint64_t a, b, c;
};

static void mix(struct state *s)
{
	static const uint8_t shift[4][3] = {{43, 9, 8}, {38, 23, 5}, {35, 49, 11}, {12, 18, 22}};
	uint64_t a = s->a, b = s->b, c = s->c;
	for (int i = 0; i < 4; i++) {
		a = (a - b - c) ^ (c >> shift[i][0]);
		b = (b - c - a) ^ (a << shift[i][1]);
		c = (c - a - b) ^ (b >> shift[i][2]);
	}
	*s = (struct state){a, b, c};
}

static uint64_t load_whole(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static uint64_t load(const uint8_t *p, size_t n)
{
	if (n >= 8)
		return load_whole(p);
	uint64_t v = 0;
	for (size_t i = 0; i < n && i < 8; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static size_t beyond(size_t n, size_t start)
{
	return n > start ? n - start : 0;
}

uint64_t log_hash(const void *key, size_t n, uint64_t level)
{
	const uint8_t *p = key;
	struct state s = {level, level, 0x9e3779b97f4a7c13};
	size_t left = n;
	for (; left >= 24; left -= 24, p += 24) {
		s.a += load_whole(p);
		s.b += load_whole(p + 8);
		s.c += load_whole(p + 16);
		mix(&s);
	}
	s.a += load(p, left);
	s.b += load(p + 8, beyond(left, 8));
	s.c += n + (load(p + 16, beyond(left, 16)) << 8);
	mix(&s);
	return s.c;
}

uint64_t log_id(const char *name)
{
	return log_hash(name, strlen(name), 0);
}

/* Is there anything to remove? Mostly not, and every open asks. */
static int is_clean(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (s[i] == '/' && (s[i - 1] == '/' || (s[i - 1] == '.' && i > 1 && s[i - 2] == '/')))
			return 0;
	return 1;
}

/* Removes every occurrence of `pattern` but its first byte, also those that a removal creates. */
static size_t drop_doubled(char *s, size_t n, const char *pattern, size_t length)
{
	size_t used = 0;
	for (size_t i = 0; i < n; i++) {
		s[used++] = s[i];
		while (used >= length && !memcmp(s + used - length, pattern, length))
			used -= length - 1;
	}
	s[used] = 0;
	return used;
}

size_t log_clean_path(const char *cwd, const char *path, char *out, size_t room)
{
	size_t n = strlen(path);
	int relative = path[0] != '/' && path[0] != '<' && cwd;
	size_t before = relative ? strlen(cwd) + 1 : 0;
	if (before + n + 1 > room)
		return 0;
	if (relative) {
		memcpy(out, cwd, before - 1);
		out[before - 1] = '/';
	}
	memcpy(out + before, path, n + 1);
	if (path[0] == '<')
		return n;
	if (is_clean(out, before + n))
		return before + n;
	n = drop_doubled(out, before + n, "//", 2);
	return drop_doubled(out, n, "/./", 3);
}
