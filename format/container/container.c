#include "container.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "hosts are little-endian; logs may be either");

/* Where the fields of the header are. */
static const struct layout {
	int minor;
	uint32_t size;
	uint32_t partial_at;
	uint32_t partial_size;
	uint32_t map_at; /* names, then the modules */
	uint32_t modules;
	uint32_t versions_at;
} layouts[] = {
	{0, 360, 20, 4, 24, 16, 296},  {10, 360, 20, 4, 24, 16, 296},   {20, 360, 20, 4, 24, 16, 296},
	{21, 360, 20, 4, 24, 16, 296}, {41, 1328, 24, 8, 32, 64, 1072},
};

uint64_t container_u64(const struct log_container *c, const void *at)
{
	uint64_t v;
	memcpy(&v, at, sizeof v);
	return c->swapped ? __builtin_bswap64(v) : v;
}

static uint32_t container_u32(const struct log_container *c, const void *at)
{
	uint32_t v;
	memcpy(&v, at, sizeof v);
	return c->swapped ? __builtin_bswap32(v) : v;
}

void container_swap(const struct log_container *c, void *words, size_t n)
{
	uint64_t *w = words;
	if (c->swapped)
		for (size_t i = 0; i < n; i++)
			w[i] = __builtin_bswap64(w[i]);
}

static int all_zero(const uint8_t *at, size_t n)
{
	while (n && !at[n - 1])
		n--;
	return !n;
}

static int is_old(const uint8_t *head)
{
	return (head[0] == '1' || head[0] == '2') && head[1] == '.' && !head[4];
}

/* What a file that is no 3.x log looks like from its first bytes. */
static int reject(const uint8_t *head, struct log_error *err)
{
	if (all_zero(head, 16))
		return log_fail(err, LOG_E_UNFINISHED, 0,
				"header was never written: the job was still running or was killed");
	if (is_old(head))
		return log_fail(err, LOG_E_OLD, 0, "log of Darshan 1.x or 2.x");
	if (head[0] == 0x1f && head[1] == 0x8b)
		return log_fail(err, LOG_E_OLD, 0, "gzip data");
	if (!memcmp(head, "BZh", 3))
		return log_fail(err, LOG_E_OLD, 0, "bzip2 data");
	return log_fail(err, LOG_E_NOT_LOG, 0, "not a Darshan log");
}

static int read_magic(struct log_container *c, const uint8_t *head)
{
	uint64_t magic;
	memcpy(&magic, head + 8, sizeof magic);
	c->swapped = magic == __builtin_bswap64(CONTAINER_MAGIC);
	return magic == CONTAINER_MAGIC || c->swapped;
}

static const struct layout *find_layout(struct log_container *c, const uint8_t *head)
{
	memcpy(c->version, head, 8);
	char *end;
	if (strncmp(c->version, "3.", 2))
		return NULL;
	c->minor = (int)strtol(c->version + 2, &end, 10);
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].minor == c->minor && !*end)
			return &layouts[i];
	return NULL;
}

/* Module ids moved twice: H5D came in at 4, PNETCDF_VAR at 6. */
static uint32_t current_id(int minor, uint32_t id)
{
	id += minor < 20 && id >= 4;
	id += minor < 41 && id >= 6;
	return id;
}

static struct log_region read_region(const struct log_container *c, const uint8_t *at)
{
	return (struct log_region){container_u64(c, at), container_u64(c, at + 8)};
}

static void read_map(struct log_container *c, const struct layout *l, const uint8_t *head)
{
	uint64_t partial = container_u32(c, head + l->partial_at);
	if (l->partial_size == 8)
		partial = container_u64(c, head + l->partial_at);
	c->names = read_region(c, head + l->map_at);
	for (uint32_t old = 0; old < l->modules; old++) {
		uint32_t id = current_id(c->minor, old);
		if (id >= LOG_MAX_MODULES)
			continue;
		c->module[id] = read_region(c, head + l->map_at + 16 * (old + 1));
		c->module_version[id] = container_u32(c, head + l->versions_at + 4 * old);
		c->partial |= (partial >> old & 1) << id;
	}
}

/* The job region has no length of its own: it ends where the next one begins. */
static void place_job(struct log_container *c)
{
	uint64_t end = c->names.offset;
	for (int i = 0; i < LOG_MAX_MODULES && !end; i++)
		end = c->module[i].offset;
	if (!end)
		end = c->file_size;
	c->job.offset = c->header_size;
	c->job.length = end > c->header_size ? end - c->header_size : 0;
}

int container_read(struct log_container *c, const struct source *s, struct log_error *err)
{
	uint8_t head[CONTAINER_HEADER] = {0};
	*c = (struct log_container){.file_size = s->size};
	size_t have = s->size < sizeof head ? s->size : sizeof head;
	int code = source_read(s, 0, head, have, err);
	if (code < 0)
		return code;
	if (!have)
		return log_fail(err, LOG_E_NOT_LOG, LOG_NOWHERE, "empty file");
	if (have < 16 || is_old(head) || !read_magic(c, head))
		return reject(head, err);
	const struct layout *l = find_layout(c, head);
	if (!l)
		return log_fail(err, LOG_E_VERSION, 0, "log format ", c->version, " is not known");
	if (have < l->size)
		return log_fail(err, LOG_E_TRUNCATED, have, "file ends in the header");
	c->header_size = l->size;
	c->compression = head[16];
	if (c->compression >= LOG_COMPRESSIONS)
		return log_fail(err, LOG_E_DAMAGED, 16, "unknown compression");
	read_map(c, l, head);
	place_job(c);
	return LOG_OK;
}

static int is_inside(const struct log_container *c, const struct log_region *r)
{
	return r->offset <= c->file_size && r->length <= c->file_size - r->offset;
}

/* A region that claims to reach beyond the file says nothing about the others. */
static int overlaps(const struct log_container *c, const struct log_region *a, const struct log_region *b)
{
	if (a == b || !a->length || !b->length || !is_inside(c, b))
		return 0;
	return a->offset < b->offset ? b->offset - a->offset < a->length : a->offset - b->offset < b->length;
}

static int disjoint(const struct log_container *c, const struct log_region *r)
{
	if (overlaps(c, r, &c->names) || overlaps(c, r, &c->job))
		return 0;
	for (int i = 0; i < LOG_MAX_MODULES; i++)
		if (overlaps(c, r, &c->module[i]))
			return 0;
	return 1;
}

int container_check_region(const struct log_container *c, const struct log_region *r, struct log_error *err)
{
	if (r->offset < c->header_size || r->length > UINT64_MAX - r->offset)
		return log_fail(err, LOG_E_DAMAGED, r->offset < c->file_size ? r->offset : c->file_size,
				"region outside of the file");
	if (!disjoint(c, r))
		return log_fail(err, LOG_E_DAMAGED, r->offset, "region overlaps another one");
	if (!is_inside(c, r))
		return log_fail(err, LOG_E_TRUNCATED, c->file_size, "file ends too early");
	return LOG_OK;
}
