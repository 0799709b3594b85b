#include "frequencies.h"

#include "alloc.h"
#include "error.h"

enum { FIRST_SIZE = 16 };

struct common *common_make(uint32_t most)
{
	struct common *c = log_alloc(sizeof *c);
	if (c)
		*c = (struct common){.most = most};
	return c;
}

static struct common_value *slot_of(struct common_value *slots, size_t size, int64_t value)
{
	size_t at = (size_t)(((uint64_t)value * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
	while (slots[at & (size - 1)].value && slots[at & (size - 1)].value != value)
		at++;
	return &slots[at & (size - 1)];
}

static int magnitude(int64_t count)
{
	return count > 0 ? 64 - __builtin_clzll((uint64_t)count) : 0;
}

/* Counts of at most this many bits are those of at least half of the values. */
static int magnitude_of_least_half(const struct common *c)
{
	uint32_t n[65] = {0}, sum = 0;
	for (size_t at = 0; at < c->size; at++)
		if (c->slot[at].value)
			n[magnitude(c->slot[at].count)]++;
	int bits = 0;
	for (; bits < 64; bits++)
		if ((sum += n[bits]) >= c->used / 2)
			break;
	return bits;
}

/* A table of another size; the values that are `dropped`, of those that have at most so many bits, are not in it. */
static int renew(struct common *c, size_t size, uint32_t dropped, int bits)
{
	struct common_value *slots = log_alloc(size * sizeof *slots);
	if (!slots)
		return LOG_E_MEMORY;
	uint32_t used = 0;
	for (int larger = 0; larger < 2; larger++) {
		for (size_t at = 0; at < c->size; at++) {
			const struct common_value *v = &c->slot[at];
			if (!v->value || (magnitude(v->count) > bits) != larger)
				continue;
			if (dropped) {
				dropped--;
				continue;
			}
			*slot_of(slots, size, v->value) = *v;
			used++;
		}
	}
	log_free(c->slot);
	c->slot = slots;
	c->size = size;
	c->used = used;
	return 0;
}

static int make_room(struct common *c)
{
	if (c->used >= c->most) {
		c->bound = true;
		return renew(c, c->size, c->used / 2, magnitude_of_least_half(c));
	}
	return 2 * c->used < c->size ? 0 : renew(c, c->size ? 2 * c->size : FIRST_SIZE, 0, 0);
}

int common_add(struct common *c, int64_t value, int64_t count)
{
	if (!value || !count)
		return 0;
	struct common_value *s = c->size ? slot_of(c->slot, c->size, value) : NULL;
	if (!s || !s->value) {
		int code = make_room(c);
		if (code < 0)
			return code;
		s = slot_of(c->slot, c->size, value);
		c->used++;
	}
	/* Unsigned arithmetic: sums of damaged logs may wrap. */
	*s = (struct common_value){value, (int64_t)((uint64_t)s->count + (uint64_t)count)};
	return 0;
}

int common_add_all(struct common *c, const struct common *more)
{
	int code = 0;
	c->bound |= more->bound;
	for (size_t at = 0; code >= 0 && at < more->size; at++)
		code = common_add(c, more->slot[at].value, more->slot[at].count);
	return code;
}

static bool common_before(const struct common_value *a, const struct common_value *b)
{
	return a->count != b->count ? a->count > b->count : a->value > b->value;
}

void common_rank(struct common_value *list, int *n, int room, struct common_value v)
{
	if (*n == room && !common_before(&v, &list[room - 1]))
		return;
	int at = *n < room ? (*n)++ : room - 1;
	for (; at && common_before(&v, &list[at - 1]); at--)
		list[at] = list[at - 1];
	list[at] = v;
}

void common_show(const struct common *c, struct common_value shown[COMMON_SHOWN])
{
	int n = 0;
	for (size_t at = 0; at < c->size; at++)
		if (c->slot[at].value)
			common_rank(shown, &n, COMMON_SHOWN, c->slot[at]);
	for (; n < COMMON_SHOWN; n++)
		shown[n] = (struct common_value){0};
}

void common_free(struct common *c)
{
	if (c)
		log_free(c->slot);
	log_free(c);
}
