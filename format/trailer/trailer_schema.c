#include "trailer_schema.h"

#include <string.h>

enum { COUNT_MAX = 1 << 20 };

static const char *const type_names[] = {"i64", "u64", "f64", "str", "char"};

struct cursor {
	const char *at, *end;
};

static bool is_end(const struct cursor *c, char stop)
{
	return c->at == c->end || *c->at == stop;
}

/* Copies up to one of the two stop characters; false if it does not fit or is empty. */
static bool take_word(struct cursor *c, char stop, char stop2, char *out, size_t room)
{
	const char *begin = c->at;
	for (; c->at < c->end; c->at++)
		if (*c->at == '\n' || *c->at == stop || *c->at == stop2)
			break;
	size_t n = (size_t)(c->at - begin);
	if (n >= room)
		return false;
	memcpy(out, begin, n);
	out[n] = 0;
	return n > 0;
}

static bool skip(struct cursor *c, char wanted)
{
	bool there = c->at < c->end && *c->at == wanted;
	c->at += there;
	return there;
}

static bool take_count(struct cursor *c, uint32_t *out)
{
	*out = 0;
	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9' && *out <= COUNT_MAX; c->at++)
		*out = *out * 10 + (uint32_t)(*c->at - '0');
	return *out > 0 && *out <= COUNT_MAX && skip(c, ']');
}

static bool find_type(const char *word, enum trailer_type *out)
{
	for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++) {
		if (word[0] == type_names[i][0] && !strcmp(word, type_names[i])) {
			*out = (enum trailer_type)i;
			return true;
		}
	}
	return false;
}

/* `name type[count] unit`, the last two optional. */
static bool parse_line(struct cursor *c, struct trailer_field *f)
{
	char type[8];
	f->count = 1;
	f->unit[0] = 0;
	if (!take_word(c, ' ', ' ', f->name, sizeof f->name) || !skip(c, ' '))
		return false;
	if (!take_word(c, ' ', '[', type, sizeof type) || !find_type(type, &f->type))
		return false;
	if (skip(c, '[') && !take_count(c, &f->count))
		return false;
	if (skip(c, ' ') && !is_end(c, '\n') && !take_word(c, '\n', '\n', f->unit, sizeof f->unit))
		return false;
	if (f->type == TRAILER_CHAR && f->count % 8)
		return false;
	return skip(c, '\n');
}

static uint64_t field_bytes(const struct trailer_field *f)
{
	return f->type == TRAILER_CHAR ? f->count : 8ull * f->count;
}

int64_t trailer_parse_schema(const char *text, size_t n, struct trailer_field *out, uint64_t *row_size)
{
	while (n && !text[n - 1])
		n--;
	struct cursor c = {text, text + n};
	struct trailer_field unwanted;
	int64_t fields = 0;
	*row_size = 0;
	while (c.at < c.end) {
		struct trailer_field *f = out ? &out[fields] : &unwanted;
		if (!parse_line(&c, f) || *row_size > UINT32_MAX - field_bytes(f))
			return LOG_E_DAMAGED;
		f->offset = (uint32_t)*row_size;
		*row_size += field_bytes(f);
		fields++;
	}
	return fields;
}
