#include "folded.h"

#include <string.h>

#include "config.h"
#include "hash.h"
#include "mounts.h"
#include "store.h"

/* ---- files of programs ---- */

/* Components behind which packages lie, each a directory, and how many components their names have. */
struct place {
	const char *text; /* with a * at its end: what the last one begins with */
	int depth;
};

static const struct place places[] = {
	{"site-packages", 1}, {"dist-packages", 1}, {"node_modules", 1}, {"lib/python*", 1}, {"lib64/python*", 1},
	{"lib/pypy*", 1},     {"R/library", 1},     {"gems", 1},         {"perl5", 1},       {".julia", 2},
};

/* What a program's parts end in, wherever they lie. */
static const char *const endings[] = {".py", ".pyc", ".pyo", ".pyi", ".pth", ".so",  ".js",  ".cjs", ".mjs", ".jl",
				      ".ji", ".rb",  ".pm",  ".pl",  ".R",   ".rdb", ".rdx", ".jar", ".lua", ".class"};

/* The end of the place that a path has at `at`, where a component begins; 0 = there is none. */
static size_t place_end(const struct path *p, size_t at, const struct place *place)
{
	size_t n = strlen(place->text);
	bool begins = place->text[n - 1] == '*';
	n -= begins;
	if (p->length - at <= n || memcmp(p->text + at, place->text, n) != 0)
		return 0;
	const char *slash = memchr(p->text + at + n, '/', p->length - at - n);
	return slash && (begins || slash == p->text + at + n) ? (size_t)(slash - p->text) : 0;
}

/* So many components more, as far as they are directories. */
static size_t deeper(const struct path *p, size_t end, int components)
{
	const char *slash = p->text + end;
	while (components-- && slash) {
		slash = memchr(p->text + end + 1, '/', p->length - end - 1);
		end = slash ? (size_t)(slash - p->text) : end;
	}
	return end;
}

/* The end of the directory of the package that a path is in: of the innermost; 0 = it is in none. */
static size_t package_end(const struct path *p)
{
	size_t end = 0;
	for (const char *slash = p->text; slash;
	     slash = memchr(slash + 1, '/', p->length - (size_t)(slash + 1 - p->text))) {
		size_t at = (size_t)(slash + 1 - p->text);
		for (size_t i = 0; slash[1] && strchr("sdnlRgp.", slash[1]) && i < sizeof places / sizeof *places;
		     i++) {
			size_t place = place_end(p, at, &places[i]);
			if (place)
				end = deeper(p, place, places[i].depth + (p->text[place + 1] == '@'));
		}
	}
	return end;
}

/* The version that a library's name ends in is no ending: libz.so.1.2. */
static bool ends_as_program(const struct path *p)
{
	size_t n = p->length;
	while (n && (p->text[n - 1] == '.' || (p->text[n - 1] >= '0' && p->text[n - 1] <= '9')))
		n--;
	if (n < 3 || memcmp(p->text + n - 3, ".so", 3) != 0)
		n = p->length;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t m = strlen(endings[i]);
		if (n > m && memcmp(p->text + n - m, endings[i], m) == 0)
			return true;
	}
	return false;
}

bool folded_is_program(const struct path *p)
{
	return ends_as_program(p) || package_end(p);
}

/* Its package's directory, or the one that it is in: of byte code that of the sources. */
static size_t program_directory(const struct path *p)
{
	static const char cache[] = "/__pycache__";
	size_t n = package_end(p), m = sizeof cache - 1;
	if (n)
		return n;
	for (n = p->length; n && p->text[n - 1] != '/';)
		n--;
	n -= n > 0;
	return n > m && memcmp(p->text + n - m, cache, m) == 0 ? n - m : n;
}

/* ---- what they share ---- */

static size_t packages; /* entries that were made; under the lock of the names */

/* They take a sixteenth of the budget at most, a KiB each. */
static bool more_packages(void)
{
	return packages < (size_t)(config.budget / 16 / 1024);
}

static void name_of(struct path *out, const char *directory, size_t n, enum store_use use)
{
	const char *last = use == STORE_PROGRAM ? "/<other program files>" : "/<other files>";
	size_t m = strlen(last);
	n = n < NAMES_PATH_MAX - m ? n : 0;
	memcpy(out->text, directory, n);
	memcpy(out->text + n, last, m + 1);
	out->length = (uint32_t)(n + m);
}

struct name *folded_package(const struct path *p)
{
	PATH(shared);
	name_of(shared, p->text, program_directory(p), STORE_PROGRAM);
	struct name *known = names_find(shared);
	if (known || !more_packages())
		return known;
	known = names_shared_entry(shared, STORE_DATA);
	packages += known != NULL;
	return known;
}

/* <mount point>/<other files>, so that readers still see the file system. */
struct name *folded_mount(const struct path *p, enum store_use use)
{
	PATH(shared);
	const char *mount = mounts_point(p->text);
	size_t n = mount ? strlen(mount) : 0;
	name_of(shared, mount ? mount : "", n == 1 ? 0 : n, use);
	return names_shared_entry(shared, STORE_SHARED);
}

/* ---- how many there are ---- */

static struct overflow_index directories; /* under the lock of the names */

void folded_count(int module, const struct path *p, enum store_use use)
{
	struct process_state *state = store_state();
	store_partial(module);
	overflow_add(&state->overflow, state->optional.folded, &directories, store_touch_folded,
		     use == STORE_PROGRAM ? OVERFLOW_PROGRAM : OVERFLOW_DATA, p->text, p->length);
}

/* ---- heavy ones ---- */

/*
 * Opens of files without a record, by a hash of their names. Another file's open takes one away from a slot's count, and the slot when
 * none is left (as in HeavyKeeper, of Gong and others, 2018): of a million that are opened once each, none is counted up. Under the
 * lock of the names.
 */
enum { SLOTS = 1024, LEAST = 64 };
static struct {
	uint32_t key;
	uint32_t opens;
} slot[SLOTS];

/* What is left is for ever heavier ones: 64, 1,024, 16,384, ... */
uint32_t folded_threshold(void)
{
	unsigned halvings = store_heavy_halvings();
	return halvings > 6 ? UINT32_MAX : (uint32_t)LEAST << 4 * halvings;
}

bool folded_is_heavy(const struct path *p)
{
	uint64_t key = log_hash(p->text, p->length, 1);
	uint32_t at = key % SLOTS, half = (uint32_t)(key >> 32);
	if (slot[at].key != half) {
		slot[at].opens -= slot[at].opens > 0;
		if (slot[at].opens)
			return false;
		slot[at].key = half;
	}
	return ++slot[at].opens >= folded_threshold();
}

void folded_reset(void)
{
	memset(slot, 0, sizeof slot);
	memset(&directories, 0, sizeof directories);
	packages = 0;
}
