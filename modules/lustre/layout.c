#include "layout.h"

#include <string.h>

/* Numbers of the attribute are little-endian on every machine. */
enum {
	MAGIC_V1 = 0x0BD10BD0,
	MAGIC_V3 = 0x0BD30BD0,
	MAGIC_SPECIFIC = 0x0BD50BD0, /* a v3 that names its targets */
	MAGIC_COMPOSITE = 0x0BD60BD0,
	MAGIC_FOREIGN = 0x0BD70BD0,
	MAGIC_EXTENDING = 0x0BD80BD0, /* a composite with components that extend others */
};

enum { OBJECT = 24, OBJECT_TARGET = 20, POOL_AT = 32, POOL_SIZE = 16, ENTRY_AT = 32, ENTRY = 48, FOREIGN_HEAD = 16 };

enum {
	PATTERN_RAID0 = 1,
	PATTERN_MDT = 0x100,
	PATTERN_OVERSTRIPED = 0x200,
	PATTERN_FOREIGN = 0x400,
	PATTERN_KINDS = PATTERN_RAID0 | PATTERN_MDT | PATTERN_OVERSTRIPED | PATTERN_FOREIGN
};

#define PATTERN_RELEASED 0x80000000u /* the data are in an archive: no objects */

/* Values of the record's counter stripe_pattern. */
enum { SHOWN_RAID0 = 0, SHOWN_MDT = 2, SHOWN_OVERSTRIPED = 4, SHOWN_FOREIGN = 8 };

enum { FLAG_INIT = 0x10, FLAGS_KEPT = 0x7ff, FLAG_NEGATIVE_SHOWN = 0x800 };
#define FLAG_NEGATIVE 0x80000000u

struct bytes {
	const uint8_t *at;
	size_t n;
};

static uint64_t number(const uint8_t *at, int bytes)
{
	uint64_t v = 0;
	while (bytes--)
		v = v << 8 | at[bytes];
	return v;
}

static uint32_t u32(const uint8_t *at)
{
	return (uint32_t)number(at, 4);
}

static uint32_t u16(const uint8_t *at)
{
	return (uint32_t)number(at, 2);
}

/* One component, read. */
struct piece {
	struct lustre_component shown;
	const uint8_t *objects; /* NULL = there are none that say where they are */
};

/* ---- the kinds ---- */

static int read_foreign(struct bytes b, struct piece *out)
{
	if (b.n < FOREIGN_HEAD)
		return LUSTRE_SHORT;
	if (u32(b.at + 4) > b.n - FOREIGN_HEAD)
		return LUSTRE_SHORT;
	out->shown.stripe_size = 1; /* has none, and readers divide by it */
	out->shown.stripe_pattern = SHOWN_FOREIGN;
	return 1;
}

static int64_t shown_pattern(uint32_t pattern)
{
	if (pattern & PATTERN_MDT)
		return SHOWN_MDT;
	if (pattern & PATTERN_FOREIGN)
		return SHOWN_FOREIGN;
	return pattern & PATTERN_OVERSTRIPED ? SHOWN_OVERSTRIPED : SHOWN_RAID0;
}

static void copy_pool(char *to, const uint8_t *from)
{
	size_t n = 0;
	for (; n < POOL_SIZE - 1 && from[n] > ' ' && from[n] < 127; n++)
		to[n] = (char)from[n];
}

/*
 * v1 and v3. Returns 0 for the defaults of a directory, and for what has no objects yet: there is nothing to be said of where its
 * data lie.
 */
static int read_plain(struct bytes b, bool pooled, struct piece *out)
{
	size_t head = pooled ? POOL_AT + POOL_SIZE : POOL_AT;
	if (b.n < head)
		return LUSTRE_SHORT;
	uint32_t pattern = u32(b.at + 4), count = u16(b.at + 28);
	out->shown.stripe_size = u32(b.at + 24);
	out->shown.stripe_pattern = shown_pattern(pattern);
	if (pooled)
		copy_pool(out->shown.pool_name, b.at + POOL_AT);
	if (!(pattern & PATTERN_KINDS) || !out->shown.stripe_size)
		return LUSTRE_WRONG;
	if (out->shown.stripe_pattern != SHOWN_RAID0 && out->shown.stripe_pattern != SHOWN_OVERSTRIPED)
		return 1;
	if (b.n == head && !(pattern & PATTERN_RELEASED))
		return 0;
	if (!count || (b.n == head && count == UINT16_MAX))
		return LUSTRE_WRONG;
	out->shown.stripe_count = count;
	if (pattern & PATTERN_RELEASED)
		return 1;
	if (count > (b.n - head) / OBJECT)
		return LUSTRE_SHORT;
	out->objects = b.at + head;
	return 1;
}

static int read_simple(struct bytes b, struct piece *out)
{
	if (b.n < 4)
		return LUSTRE_SHORT;
	switch (u32(b.at)) {
	case MAGIC_V1:
		return read_plain(b, false, out);
	case MAGIC_V3:
	case MAGIC_SPECIFIC:
		return read_plain(b, true, out);
	case MAGIC_FOREIGN:
		return read_foreign(b, out);
	case MAGIC_COMPOSITE:
	case MAGIC_EXTENDING:
		return LUSTRE_WRONG; /* cut short, or within another */
	default:
		return LUSTRE_UNKNOWN;
	}
}

/* ---- components ---- */

static bool is_composite(struct bytes b)
{
	return b.n >= ENTRY_AT && (u32(b.at) == MAGIC_COMPOSITE || u32(b.at) == MAGIC_EXTENDING);
}

static uint32_t entries_of(struct bytes b)
{
	return is_composite(b) ? u16(b.at + 14) : 1;
}

static int read_entry(struct bytes b, uint32_t k, struct piece *out)
{
	const uint8_t *e = b.at + ENTRY_AT + (size_t)k * ENTRY;
	uint32_t id = u32(e), flags = u32(e + 4), at = u32(e + 24), size = u32(e + 28);
	if (at > b.n || size > b.n - at)
		return LUSTRE_SHORT;
	uint64_t start = number(e + 8, 8), end = number(e + 16, 8);
	if (start > INT64_MAX || start >= end)
		return LUSTRE_WRONG;
	out->shown.flags = (flags & FLAGS_KEPT) | (flags & FLAG_NEGATIVE ? FLAG_NEGATIVE_SHOWN : 0);
	out->shown.ext_start = (int64_t)start;
	out->shown.ext_end = end > INT64_MAX ? -1 : (int64_t)end;
	out->shown.mirror_id = id >> 16 & 0x7fff;
	if (!(flags & FLAG_INIT))
		return 0;
	return read_simple((struct bytes){b.at + at, size}, out);
}

/* The k-th component: 1, 0 for one without objects yet, or an error. */
static int read_piece(struct bytes b, uint32_t k, struct piece *out)
{
	memset(out, 0, sizeof *out);
	if (is_composite(b))
		return read_entry(b, k, out);
	out->shown.ext_end = -1;
	return read_simple(b, out);
}

int lustre_layout_read(const void *attribute, size_t n, struct lustre_layout *out)
{
	struct bytes b = {attribute, n};
	struct piece p;
	*out = (struct lustre_layout){0};
	if (is_composite(b) && (u32(b.at + 4) > n || entries_of(b) > (n - ENTRY_AT) / ENTRY))
		return LUSTRE_SHORT;
	for (uint32_t k = 0; k < entries_of(b); k++) {
		int code = read_piece(b, k, &p);
		if (code < 0)
			return code;
		if (!code && is_composite(b) && (!out->grows || p.shown.ext_start < out->grows_at)) {
			out->grows = true;
			out->grows_at = p.shown.ext_start;
		}
		if (!code)
			continue;
		struct lustre_layout more = {.components = out->components + 1,
					     .stripes = out->stripes + p.shown.stripe_count};
		if (out->left_out || lustre_layout_size(&more) > LUSTRE_RECORD_MOST) {
			out->left_out++;
			continue;
		}
		out->components = more.components;
		out->stripes = more.stripes;
	}
	return 0;
}

void lustre_layout_store(const void *attribute, size_t n, const struct lustre_layout *l, struct lustre_record *to)
{
	struct bytes b = {attribute, n};
	struct lustre_component *component = (struct lustre_component *)(to + 1);
	int64_t *target = (int64_t *)(component + l->components);
	int64_t used = 0;
	to->num_components = l->components;
	to->num_stripes = l->stripes;
	for (uint32_t k = 0; used < l->components && k < entries_of(b); k++) {
		struct piece p;
		if (read_piece(b, k, &p) <= 0)
			continue;
		component[used++] = p.shown;
		for (int64_t s = 0; s < p.shown.stripe_count; s++)
			*target++ = p.objects ? (int64_t)u32(p.objects + s * OBJECT + OBJECT_TARGET) : -1;
	}
}
