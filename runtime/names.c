#include "names.h"

#include <string.h>

#include "arena.h"
#include "config.h"
#include "fds.h"
#include "hash.h"
#include "lock.h"
#include "mounts.h"
#include "self.h"
#include "store.h"
#include "sys.h"

static struct lock table_lock;

void names_lock(void)
{
	lock_take(&table_lock);
}

void names_unlock(void)
{
	lock_drop(&table_lock);
}

/* ---- cleaning ---- */

/* The working directory is asked for once, and again after each change that we see. */
static struct {
	struct lock lock;
	bool known;
	struct path path;
} directory;

void names_directory_changed(void)
{
	__atomic_store_n(&directory.known, false, __ATOMIC_RELEASE);
}

static bool directory_known(void)
{
	if (__atomic_load_n(&directory.known, __ATOMIC_ACQUIRE))
		return true;
	ssize_t n = sys_getcwd(directory.path.text, NAMES_PATH_MAX);
	bool known = n > 0 && directory.path.text[0] == '/';
	__atomic_store_n(&directory.known, known, __ATOMIC_RELEASE);
	return known;
}

static uint32_t clean_in_directory(struct path *out, const char *path)
{
	lock_take(&directory.lock);
	uint32_t n = 0;
	if (directory_known())
		n = (uint32_t)log_clean_path(directory.path.text, path, out->text, NAMES_PATH_MAX);
	lock_drop(&directory.lock);
	return n;
}

static uint32_t clean_below(struct path *out, int dir, const char *path)
{
	struct path base;
	const char *name = fds_name(dir);
	if (!name && !names_path_of_fd(&base, dir))
		return 0;
	return (uint32_t)log_clean_path(name ? name : base.text, path, out->text, NAMES_PATH_MAX);
}

bool names_path_of_fd(struct path *out, int fd)
{
	char link[32] = "/proc/self/fd/";
	size_t at = 14;
	char digits[12];
	int n = 0;
	for (unsigned v = (unsigned)fd; n == 0 || v; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n)
		link[at++] = digits[--n];
	ssize_t got = sys_readlink(link, out->text, NAMES_PATH_MAX - 1);
	out->length = got > 0 ? (uint32_t)got : 0;
	out->text[out->length] = '\0';
	return got > 0 && out->text[0] == '/';
}

bool names_path(struct path *out, int dir, const char *path)
{
	if (!path)
		return false;
	if (path[0] == '/' || path[0] == '<')
		out->length = (uint32_t)log_clean_path(NULL, path, out->text, NAMES_PATH_MAX);
	else
		out->length = dir == AT_FDCWD ? clean_in_directory(out, path) : clean_below(out, dir, path);
	return out->length;
}

/*
 * ---- keys ----
 *
 * Verdicts and entries are found by a key that is not the id: Darshan's hash is a chain of some hundred dependent
 * instructions, and most opens are of a name that is known. Ids are computed when an entry is made.
 */

static uint64_t multiply(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load(const char *from)
{
	uint64_t v;
	memcpy(&v, from, sizeof v);
	return v;
}

/* The last eight bytes, of which some may have been taken already; a shorter text, filled up. */
static uint64_t load_last(const char *text, size_t n)
{
	uint64_t v = 0;
	if (n >= sizeof v)
		return load(text + n - sizeof v);
	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)text[i];
	return v;
}

static uint64_t key_of(const char *text, size_t n)
{
	uint64_t key = n;
	for (size_t at = 0; at + 8 < n; at += 8)
		key = multiply(key ^ load(text + at), UINT64_C(0x9e3779b97f4a7c15));
	return multiply(key ^ load_last(text, n), UINT64_C(0xe7037ed1a0b428db));
}

/* ---- classes ---- */

struct prefix {
	const char *text;
	enum live_class_id class;
};

static const struct prefix excluded[] = {
	{"/etc/", LIVE_CLASS_CONFIG},  {"/dev/", LIVE_CLASS_DEVICE},   {"/usr/", LIVE_CLASS_PROGRAM},
	{"/bin/", LIVE_CLASS_PROGRAM}, {"/boot/", LIVE_CLASS_PROGRAM}, {"/lib/", LIVE_CLASS_PROGRAM},
	{"/opt/", LIVE_CLASS_PROGRAM}, {"/sbin/", LIVE_CLASS_PROGRAM}, {"/sys/", LIVE_CLASS_KERNEL},
	{"/proc/", LIVE_CLASS_KERNEL}, {"/var/", LIVE_CLASS_STATE},
};

static const char rescued[] = "/var/opt/cray/dws/mounts/";

static bool starts(const struct path *p, const char *prefix)
{
	size_t n = strlen(prefix);
	return p->length >= n && memcmp(p->text, prefix, n) == 0;
}

static bool ends(const struct path *p, const char *suffix)
{
	size_t n = strlen(suffix);
	return p->length >= n && memcmp(p->text + p->length - n, suffix, n) == 0;
}

static enum live_class_id program_class(const struct path *p)
{
	static const char *const python[] = {".py", ".pyc", ".pyo", ".pyi", ".pth"};
	for (size_t i = 0; i < sizeof python / sizeof *python; i++)
		if (ends(p, python[i]))
			return LIVE_CLASS_PYTHON;
	return ends(p, ".so") || strstr(p->text, ".so.") ? LIVE_CLASS_LIBRARY : LIVE_CLASS_PROGRAM;
}

/* Most paths show by one letter that no default exclusion hits them. */
static bool maybe_excluded(const char *text)
{
	enum { INITIALS = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 11 | 1 << 14 | 1 << 15 | 1 << 18 | 1 << 20 | 1 << 21 };
	unsigned letter = (unsigned char)text[1] - 'a';
	return letter < 26 && INITIALS >> letter & 1; /* b d e l o p s u v */
}

static enum live_class_id default_class(const struct path *p)
{
	if (p->length < 5 || !maybe_excluded(p->text))
		return LIVE_CLASS_NONE;
	for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
		if (starts(p, excluded[i].text))
			return excluded[i].class == LIVE_CLASS_PROGRAM ? program_class(p) : excluded[i].class;
	return LIVE_CLASS_NONE;
}

/* An exclusion, by default or by a setting, can be undone by the default rescue or by a setting. */
static enum live_class_id filtered_class(int module, const struct path *p)
{
	enum live_class_id class = default_class(p);
	if (!class && filter_hits(&config.name.exclude, module, p->text))
		class = LIVE_CLASS_FILTERED;
	if (class && (starts(p, rescued) || filter_hits(&config.name.include, module, p->text)))
		class = LIVE_CLASS_NONE;
	return class;
}

/* Verdicts by key and module: a repeated open runs no expression and cleans no path again. */
enum { VERDICTS = 4096 };

static uint64_t verdicts[VERDICTS]; /* the key's upper bits, and the class in the lowest eight */

static bool have_rules(void)
{
	return config.name.exclude.rules || config.name.include.rules;
}

static uint64_t verdict_key(int module, uint64_t key)
{
	return key ^ (uint64_t)(module + 1) * UINT64_C(0xd6e8feb86659fd93);
}

static bool remembered(uint64_t verdict, enum live_class_id *class)
{
	uint64_t seen = __atomic_load_n(&verdicts[(verdict >> 8) % VERDICTS], __ATOMIC_RELAXED);
	*class = (enum live_class_id)(seen & 255);
	return seen && (seen | 255) == (verdict | 255);
}

enum live_class_id names_class(int module, const struct path *p)
{
	enum live_class_id class;
	if (!have_rules() && !maybe_excluded(p->text))
		return LIVE_CLASS_NONE;
	uint64_t verdict = verdict_key(module, key_of(p->text, p->length));
	if (remembered(verdict, &class))
		return class;
	class = filtered_class(module, p);
	__atomic_store_n(&verdicts[(verdict >> 8) % VERDICTS], (verdict & ~UINT64_C(255)) | class, __ATOMIC_RELAXED);
	return class;
}

void names_count_class(enum live_class_id class)
{
	self_shard()->class[class].opens++;
	self_shard_done();
}

/* ---- the table: open addressing, grown by doubling; entries never move ---- */

struct slot {
	uint64_t key;
	struct name *name;
};

static struct {
	struct slot *slot;
	size_t size;
	size_t used;
} table;

static struct slot *find_in(struct slot *slots, size_t size, uint64_t key)
{
	size_t at = key & (size - 1);
	while (slots[at].name && slots[at].key != key)
		at = (at + 1) & (size - 1);
	return &slots[at];
}

static bool grow(void)
{
	size_t size = table.size ? 2 * table.size : 256;
	struct slot *slots = arena_take(size * sizeof *slots);
	if (!slots)
		return false;
	for (size_t i = 0; i < table.size; i++)
		if (table.slot[i].name)
			*find_in(slots, size, table.slot[i].key) = table.slot[i];
	table.slot = slots;
	table.size = size;
	return true;
}

static struct name *make(const struct path *p, bool fold)
{
	uint64_t id = log_hash(p->text, p->length, 0);
	const char *text = store_name(id, p->text, p->length, fold);
	struct name *n = text ? arena_take(sizeof *n) : NULL;
	if (n)
		*n = (struct name){.id = id, .text = text, .alignment = mounts_alignment(p->text), .fold = fold};
	return n;
}

static struct name *entry(const struct path *p, bool fold)
{
	uint64_t key = key_of(p->text, p->length);
	struct slot *s = find_in(table.slot, table.size, key);
	if (s->name)
		return s->name;
	struct name *n = make(p, fold);
	if (n) {
		*s = (struct slot){key, n};
		table.used++;
	}
	return n;
}

static bool have_room(void)
{
	return 2 * table.used < table.size || grow();
}

struct name *names_entry(const struct path *p)
{
	return have_room() ? entry(p, false) : NULL;
}

static struct name *find(uint64_t key)
{
	return table.size ? find_in(table.slot, table.size, key)->name : NULL;
}

struct name *names_find(const struct path *p)
{
	return find(key_of(p->text, p->length));
}

/* Only a clean path has ever got a key, so that one which has a key needs no cleaning. */
struct name *names_recall(int module, const char *path, enum live_class_id *class)
{
	*class = LIVE_CLASS_NONE;
	if (!path || path[0] != '/')
		return NULL;
	uint64_t key = key_of(path, strlen(path));
	if (have_rules() || maybe_excluded(path))
		if (!remembered(verdict_key(module, key), class) || *class)
			return NULL;
	names_lock();
	struct name *n = find(key);
	names_unlock();
	return n;
}

/* <mount point>/<other files>, so that readers still see the file system. */
static struct name *fold_entry(const struct path *p)
{
	struct path fold;
	const char *mount = mounts_point(p->text);
	size_t n = mount ? strlen(mount) : 0;
	n = n == 1 ? 0 : n;
	memcpy(fold.text, mount ? mount : "", n);
	memcpy(fold.text + n, "/<other files>", 15);
	fold.length = (uint32_t)n + 14;
	return entry(&fold, true);
}

struct name *names_fold(int module, const struct path *p)
{
	if (!have_room())
		return NULL;
	store_partial(module);
	live_fold_add(&store_live()->fold, log_hash(p->text, p->length, 0), p->text, p->length);
	return fold_entry(p);
}

bool names_is_fold(const struct name *n)
{
	return n->fold;
}

void names_reset(void)
{
	lock_drop(&table_lock);
	lock_drop(&directory.lock);
	memset(&table, 0, sizeof table);
}
