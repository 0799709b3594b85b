/* Layouts of every kind, whole and damaged: what a record says of them. */
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "layout.h"
#include "unit.h"

enum { MIB = 1 << 20 };

struct read {
	int code;
	struct lustre_layout layout;
	struct lustre_record *record;
	struct lustre_component *component;
	int64_t *target;
};

/* From a copy that ends where the blob ends, so that a sanitizer sees a byte too many. */
static struct read read_bytes(const uint8_t *at, size_t n)
{
	struct read r = {0};
	uint8_t *copy = malloc(n + !n);
	memcpy(copy, at, n);
	r.code = lustre_layout_read(copy, n, &r.layout);
	if (r.code >= 0) {
		r.record = calloc(1, lustre_layout_size(&r.layout));
		lustre_layout_store(copy, n, &r.layout, r.record);
		r.component = (struct lustre_component *)(r.record + 1);
		r.target = (int64_t *)(r.component + r.record->num_components);
	}
	free(copy);
	return r;
}

static struct read read_blob(const struct blob *b)
{
	return read_bytes(b->at, b->n);
}

static const uint32_t targets[] = {3, 17, 255, 4000};

TEST(lustre_plain_layouts)
{
	struct blob b = {0};
	blob_stripes(&b, &(struct blob_stripes){.size = MIB, .count = 4, .targets = targets});
	struct read r = read_blob(&b);
	EQUAL(r.code, 0);
	EQUAL(r.record->num_components, 1);
	EQUAL(r.record->num_stripes, 4);
	EQUAL(r.component->stripe_size, MIB);
	EQUAL(r.component->stripe_count, 4);
	EQUAL(r.component->stripe_pattern, 0);
	EQUAL(r.component->flags, 0);
	EQUAL(r.component->ext_start, 0);
	EQUAL(r.component->ext_end, -1);
	EQUAL(r.component->mirror_id, 0);
	TEXT(r.component->pool_name, "");
	for (int k = 0; k < 4; k++)
		EQUAL(r.target[k], targets[k]);
	CHECK(!r.layout.grows);
	free(r.record);
}

TEST(lustre_pools)
{
	struct blob b = {0};
	blob_stripes(&b, &(struct blob_stripes){.size = 65536, .count = 1, .pool = "flash", .targets = targets});
	struct read r = read_blob(&b);
	EQUAL(r.record->num_stripes, 1);
	EQUAL(r.component->stripe_size, 65536);
	TEXT(r.component->pool_name, "flash");
	free(r.record);
	b.n = 0; /* 16 letters: there is no NUL */
	blob_stripes(&b,
		     &(struct blob_stripes){.size = 65536, .count = 1, .pool = "0123456789abcdef", .targets = targets});
	r = read_blob(&b);
	TEXT(r.component->pool_name, "0123456789abcde");
	free(r.record);
	b.n = 0;
	blob_stripes(&b, &(struct blob_stripes){.size = 65536, .count = 1, .pool = "a\nb", .targets = targets});
	r = read_blob(&b);
	TEXT(r.component->pool_name, "a");
	free(r.record);
}

/* The same target several times. */
TEST(lustre_overstriping)
{
	const uint32_t twice[] = {1, 2, 1, 2};
	struct blob b = {0};
	blob_stripes(
		&b, &(struct blob_stripes){.pattern = 1 | BLOB_OVERSTRIPED, .size = MIB, .count = 4, .targets = twice});
	struct read r = read_blob(&b);
	EQUAL(r.component->stripe_pattern, 4);
	EQUAL(r.target[2], 1);
	free(r.record);
}

/* Data in an archive alone: the stripes are known, the targets are not. */
TEST(lustre_released_files)
{
	struct blob b = {0};
	blob_stripes(&b, &(struct blob_stripes){.pattern = BLOB_RELEASED, .size = MIB, .count = 2});
	struct read r = read_blob(&b);
	EQUAL(r.record->num_stripes, 2);
	EQUAL(r.component->stripe_pattern, 0);
	EQUAL(r.target[0], -1);
	EQUAL(r.target[1], -1);
	free(r.record);
}

TEST(lustre_defaults_of_directories_are_no_layout)
{
	struct blob b = {0};
	blob_stripes(&b, &(struct blob_stripes){.size = MIB, .count = 65535});
	struct read r = read_blob(&b);
	EQUAL(r.code, 0);
	EQUAL(r.record->num_components, 0);
	free(r.record);
}

TEST(lustre_foreign_files)
{
	struct blob b = {0};
	blob_foreign(&b, 5);
	struct read r = read_blob(&b);
	EQUAL(r.record->num_components, 1);
	EQUAL(r.record->num_stripes, 0);
	EQUAL(r.component->stripe_pattern, 8);
	EQUAL(r.component->stripe_count, 0);
	CHECK(r.component->stripe_size > 0);
	free(r.record);
}

/* Data on the metadata target, two components with objects, one without yet. */
static void put_progressive(struct blob *b)
{
	static const struct blob_entry e[] = {
		{1, BLOB_INIT, 0, 65536},
		{2, BLOB_INIT, 65536, 16 * MIB},
		{3, BLOB_INIT, 16 * MIB, UINT64_C(1) << 30},
		{4, 0, UINT64_C(1) << 30, BLOB_EOF},
	};
	blob_composite(b, e, 4);
	blob_begin(b, 0);
	blob_stripes(b, &(struct blob_stripes){.pattern = BLOB_MDT, .size = 65536});
	blob_end(b, 0);
	blob_begin(b, 1);
	blob_stripes(b, &(struct blob_stripes){.size = MIB, .count = 1, .targets = targets});
	blob_end(b, 1);
	blob_begin(b, 2);
	blob_stripes(b, &(struct blob_stripes){.size = 4 * MIB, .count = 3, .pool = "disk", .targets = targets + 1});
	blob_end(b, 2);
	blob_begin(b, 3);
	blob_stripes(b, &(struct blob_stripes){.size = 4 * MIB, .count = 65535});
	blob_end(b, 3);
}

TEST(lustre_progressive_layouts)
{
	struct blob b = {0};
	put_progressive(&b);
	struct read r = read_blob(&b);
	EQUAL(r.code, 0);
	CHECK(r.layout.grows);
	EQUAL(r.layout.grows_at, 1 << 30);
	EQUAL(r.record->num_components, 3);
	EQUAL(r.record->num_stripes, 4);
	EQUAL(r.component[0].stripe_pattern, 2);
	EQUAL(r.component[0].stripe_count, 0);
	EQUAL(r.component[0].stripe_size, 65536);
	EQUAL(r.component[0].ext_end, 65536);
	EQUAL(r.component[1].flags, BLOB_INIT);
	EQUAL(r.component[1].ext_start, 65536);
	EQUAL(r.component[2].stripe_count, 3);
	TEXT(r.component[2].pool_name, "disk");
	for (int k = 0; k < 4; k++)
		EQUAL(r.target[k], targets[k]);
	free(r.record);
}

TEST(lustre_mirrors)
{
	static const struct blob_entry e[] = {
		{0x10001, BLOB_INIT | 2, 0, BLOB_EOF},
		{0x20002, BLOB_INIT | 1 | 0x80000000u, 0, BLOB_EOF},
	};
	struct blob b = {0};
	blob_composite(&b, e, 2);
	for (uint16_t k = 0; k < 2; k++) {
		blob_begin(&b, k);
		blob_stripes(&b, &(struct blob_stripes){.size = MIB, .count = 2, .targets = targets + 2 * k});
		blob_end(&b, k);
	}
	struct read r = read_blob(&b);
	CHECK(!r.layout.grows);
	EQUAL(r.record->num_stripes, 4);
	EQUAL(r.component[0].mirror_id, 1);
	EQUAL(r.component[0].flags, 0x12);
	EQUAL(r.component[1].mirror_id, 2);
	EQUAL(r.component[1].flags, 0x811);
	EQUAL(r.component[1].ext_end, -1);
	EQUAL(r.target[3], 4000);
	free(r.record);
}

/* Of components of 2000 stripes each a record has room for five. */
TEST(lustre_layouts_beyond_a_record)
{
	enum { COUNT = 400, MIRRORS = 6 };
	static struct blob b;
	static uint32_t all[COUNT];
	struct blob_entry e[MIRRORS];
	for (uint32_t k = 0; k < MIRRORS; k++)
		e[k] = (struct blob_entry){(k + 1) << 16, BLOB_INIT, 0, BLOB_EOF};
	blob_composite(&b, e, MIRRORS);
	for (uint16_t k = 0; k < MIRRORS; k++) {
		blob_begin(&b, k);
		blob_stripes(&b, &(struct blob_stripes){.size = MIB, .count = COUNT, .targets = all});
		blob_end(&b, k);
	}
	struct read r = read_blob(&b);
	EQUAL(r.code, 0);
	EQUAL(r.record->num_components, MIRRORS);
	EQUAL(r.record->num_stripes, MIRRORS * COUNT);
	EQUAL(r.layout.left_out, 0);
	free(r.record);
	for (uint16_t k = 0; k < MIRRORS; k++) { /* released: thousands of stripes in a few bytes */
		blob_begin(&b, k);
		blob_stripes(&b, &(struct blob_stripes){.pattern = BLOB_RELEASED, .size = MIB, .count = 2000});
		blob_end(&b, k);
	}
	r = read_blob(&b);
	EQUAL(r.record->num_components, 5);
	EQUAL(r.record->num_stripes, 10000);
	EQUAL(r.layout.left_out, 1);
	CHECK(lustre_layout_size(&r.layout) <= LUSTRE_RECORD_MOST);
	free(r.record);
}

TEST(lustre_layouts_cut_short)
{
	struct blob b = {0};
	put_progressive(&b);
	for (size_t n = 0; n < b.n; n++) {
		struct read r = read_bytes(b.at, n);
		CHECK(r.code < 0);
	}
	b.n = 0;
	blob_stripes(&b, &(struct blob_stripes){.size = MIB, .count = 4, .targets = targets});
	for (size_t n = 0; n < b.n; n++)
		CHECK(n == 32 || read_bytes(b.at, n).code < 0);
}

struct change {
	size_t at;
	uint8_t value;
	int code;
	const char *what;
};

/* In the bytes of the progressive layout; components begin at 224, 256 and 312. */
static const struct change changes[] = {
	{0, 0xd1, LUSTRE_UNKNOWN, "magic of nothing"},
	{3, 0x0c, LUSTRE_UNKNOWN, "magic of nothing"},
	{6, 1, LUSTRE_SHORT, "a size beyond the end"},
	{15, 1, LUSTRE_SHORT, "more entries than there are"},
	{32 + 23, 0xff, 0, "an end at the end of the file"},
	{32 + 15, 0xff, LUSTRE_WRONG, "a start beyond any file"},
	{32 + 18, 0, LUSTRE_WRONG, "an extent without a byte"},
	{32 + 25, 0xff, LUSTRE_SHORT, "a component beyond the end"},
	{32 + 29, 0xff, LUSTRE_SHORT, "a component that is too long"},
	{224, 0, LUSTRE_UNKNOWN, "a component of no kind"},
	{224 + 5, 0, LUSTRE_WRONG, "no pattern"},
	{256 + 28, 0, LUSTRE_WRONG, "no stripes"},
	{256 + 26, 0, LUSTRE_WRONG, "stripes of no bytes"},
	{256 + 29, 0xff, LUSTRE_SHORT, "more stripes than objects"},
	{256, 0xd6, LUSTRE_UNKNOWN, "no magic"},
};

TEST(lustre_damaged_layouts)
{
	struct blob b = {0};
	put_progressive(&b);
	for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
		uint8_t before = b.at[changes[k].at];
		b.at[changes[k].at] = changes[k].value;
		struct read r = read_blob(&b);
		unit_equal(r.code, changes[k].code, changes[k].what, __FILE__, __LINE__);
		b.at[changes[k].at] = before;
		free(r.record);
	}
	struct blob composite = b;
	memcpy(b.at + 224, "\xd0\x0b\xd6\x0b", 4);
	EQUAL(read_blob(&b).code, LUSTRE_WRONG);
	composite.n = 20;
	EQUAL(read_blob(&composite).code, LUSTRE_WRONG);
	b.n = 0;
	blob_foreign(&b, 5);
	b.n--;
	EQUAL(read_blob(&b).code, LUSTRE_SHORT);
}

TEST(lustre_random_bytes)
{
	uint64_t state = 3;
	struct blob sound = {0};
	put_progressive(&sound);
	int good = 0;
	for (int k = 0; k < 100000; k++) {
		struct blob b;
		memcpy(&b, &sound, offsetof(struct blob, at) + sound.n);
		for (int change = 0; change < 3; change++)
			b.at[unit_random(&state) % b.n] = (uint8_t)unit_random(&state);
		struct read r = read_bytes(b.at, b.n - unit_random(&state) % 2);
		good += r.code >= 0;
		free(r.record);
	}
	CHECK(good > 1000 && good < 99000);
}
