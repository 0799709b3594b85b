#include "names.h"

#include <math.h>
#include <string.h>
#include <sys/auxv.h>

#include "arena.h"
#include "thread.h"
#include "config.h"
#include "fds.h"
#include "hash.h"
#include "lock.h"
#include "mounts.h"
#include "self.h"
#include "store.h"
#include "sys.h"

/* Guards the table of names and what is made with a first name: the mounts, the names in the store. */
static struct lock table_lock;

/* Under that lock: it is held for the first name. */
static struct lock_work first;

static bool has_names(void);

/* With the first name come the table, the mounts and the store's first pages: others wait longer for them. */
bool names_lock(void)
{
	if (!lock_take_deep(&table_lock))
		return false;
	if (!has_names())
		lock_work_begin(&first);
	return true;
}

void names_unlock(void)
{
	struct lock_work done = {.name = 0};
	if (__builtin_expect(first.name, false)) {
		done = first;
		first.name = 0;
	}
	lock_drop_deep(&table_lock);
	if (__builtin_expect(done.name, false))
		lock_work_end(&done);
}

/* ---- cleaning ---- */

#define KEPT 0.01 /* s */

/*
 * The working directory, for names that were seen before in these letters: all others come from the kernel. The kept path holds
 * while no change has begun since, and for KEPT, since another process may rename it: asking at each open would cost a quarter of
 * it. A path read during a change is not kept. A change that never ends: threads have their own.
 */
static struct {
	struct lock lock;      /* guards all that is not atomic */
	uint64_t begun, ended; /* changes, atomic */
	double moved;          /* s, when another directory became it; far ahead while one does; atomic */
	uint64_t kept;         /* one more than `begun` was when the path was read; 0 = read it first */
	double asked;          /* s, when it was read; */
	uint64_t ticks, hold;  /* and by the counter, which costs less to look at; 0 = there is none */
	struct path path;
} directory;

void names_directory_changing(void)
{
	__atomic_fetch_add(&directory.begun, 1, __ATOMIC_SEQ_CST);
}

void names_directory_changed(void)
{
	__atomic_fetch_add(&directory.ended, 1, __ATOMIC_SEQ_CST);
}

void names_directory_moving(void)
{
	double later = INFINITY;
	__atomic_store(&directory.moved, &later, __ATOMIC_SEQ_CST);
	names_directory_changing();
}

void names_directory_moved(void)
{
	double now = clock_now();
	names_directory_changed();
	__atomic_store(&directory.moved, &now, __ATOMIC_SEQ_CST);
}

bool names_directory_since(double start)
{
	double moved;
	__atomic_load(&directory.moved, &moved, __ATOMIC_SEQ_CST);
	return moved >= start;
}

/* Inside the lock, as the next one. */
static bool directory_kept(void)
{
	return directory.kept == __atomic_load_n(&directory.begun, __ATOMIC_SEQ_CST) + 1;
}

static void directory_clock(void)
{
	const struct clock_rate *r = __atomic_load_n(&clock_rate, __ATOMIC_ACQUIRE);
	directory.asked = clock_now();
	directory.hold = r->counter ? (uint64_t)(KEPT / r->per_tick) : 0;
	directory.ticks = r->counter ? epoch_counter() : 0;
}

static bool directory_recent(void)
{
	if (__builtin_expect(directory.hold != 0, 1))
		return epoch_counter() - directory.ticks < directory.hold;
	return clock_now() - directory.asked < KEPT;
}

/* The child of a vfork has the memory of its parent and, once it has changed it, a directory of its own. */
static bool directory_asked(void)
{
	uint64_t ended = __atomic_load_n(&directory.ended, __ATOMIC_SEQ_CST);
	uint64_t begun = __atomic_load_n(&directory.begun, __ATOMIC_SEQ_CST);
	directory_clock();
	if (sys_confined)
		return directory_kept();
	directory.kept = 0;
	ssize_t n = sys_getcwd(directory.path.text, NAMES_PATH_MAX);
	bool known = n > 0 && directory.path.text[0] == '/';
	directory.path.length = known ? (uint32_t)n : 0;
	if (known && begun == ended && !fds_foreign())
		directory.kept = begun + 1;
	return known;
}

static uint32_t clean_in_directory(struct path *out, const char *path)
{
	uint32_t n = 0;
	if (!lock_take_deep(&directory.lock))
		return 0;
	if (directory_asked())
		n = (uint32_t)log_clean_path(directory.path.text, path, out->text, NAMES_PATH_MAX);
	lock_drop_deep(&directory.lock);
	return n;
}

const char *names_of_fd(int fd)
{
	uintptr_t at = fds_foreign() ? 0 : fds_peek(fd);
	return at >= STATE_CLASS_COUNT ? ((struct fds_open *)at)->name->text : NULL;
}

static uint32_t clean_below(struct path *out, int dir, const char *path)
{
	PATH(base);
	const char *name = names_of_fd(dir);
	if (!name && !names_path_of_fd(base, dir))
		return 0;
	return (uint32_t)log_clean_path(name ? name : base->text, path, out->text, NAMES_PATH_MAX);
}

bool names_path_of_fd(struct path *out, int fd)
{
	char link[40] = "/proc/self/fd/";
	if (self_apart())
		strcpy(link, "/proc/thread-self/fd/");
	sys_decimal(link + strlen(link), (unsigned)fd);
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
	if (out->length && out->text[0] == '/') {
		path_trim(out);
		if (strstr(path, ".."))
			path_resolve(out);
	}
	return out->length;
}

/*
 * ---- keys ----
 *
 * Verdicts and entries are found by a key that is not the id: Darshan's hash is a chain of some hundred dependent
 * instructions, and most opens are of a name that is known. Ids are computed when an entry is made. The key depends on
 * numbers that each process draws: no names can be chosen to have the same one, and of a million that were not chosen two
 * have it in one of 30 million processes. To compare the texts would cost every open 55 instructions.
 */

/* Written at the start, by one thread. */
static uint64_t secret[2] AT_START;

static void find_pmix(char **environment);

void names_start(char **environment)
{
	find_pmix(environment);
	uint64_t drawn[2] = {0};
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(drawn, random, sizeof drawn);
	for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
		secret[i] = log_hash(drawn, sizeof drawn, i) | 1;
}

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

static uint64_t load_few(const char *text, size_t n)
{
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)text[i];
	return v;
}

/* The last 16 bytes are taken whole, also where some of them have been taken before; a shorter text from both its ends. */
static uint64_t key_of(const char *text, size_t n)
{
	uint64_t key = secret[0] * n;
	if (n < 8)
		return multiply(load_few(text, n) ^ secret[1], key);
	for (size_t at = 0; at + 16 < n; at += 16)
		key = multiply(load(text + at) ^ secret[1], load(text + at + 8) ^ key);
	return multiply(load(n < 16 ? text : text + n - 16) ^ secret[1], load(text + n - 8) ^ key);
}

/* ---- classes ---- */

/*
 * Where the MPI's launcher keeps its files, with a slash at the end. Threads of PMIx open some there while another thread is in
 * MPI_Init. Only what is named pmix: some sites give programs the same directory. Written at the start, by one thread.
 */
static struct {
	bool known;
	struct path directory;
} pmix;

static void find_pmix(char **environment)
{
	const char *given = config_variable(environment, "PMIX_SERVER_TMPDIR");
	if (!given || given[0] != '/')
		return;
	size_t n = log_clean_path(NULL, given, pmix.directory.text, NAMES_PATH_MAX - 1);
	n -= n && pmix.directory.text[n - 1] == '/';
	pmix.known = n > 0;
	pmix.directory.text[n] = '/';
	pmix.directory.text[n + 1] = '\0';
	pmix.directory.length = (uint32_t)n + 1;
}

static bool of_pmix(const struct path *p)
{
	return pmix.known && path_starts(p, pmix.directory.text) &&
	       strstr(p->text + pmix.directory.length - 1, "/pmix");
}

/* Most paths show by one letter that no default exclusion hits them. */
static bool maybe_excluded(const char *text)
{
	enum { INITIALS = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 11 | 1 << 14 | 1 << 15 | 1 << 18 | 1 << 20 | 1 << 21 };
	unsigned letter = (unsigned char)text[1] - 'a';
	return (letter < 26 ? INITIALS >> letter & 1 : !text[1]) /* b d e l o p s u v, or the root */ ||
	       text[1] == pmix.directory.text[1];
}

static enum state_class_id default_class(const struct path *p)
{
	if (p->length > 1 && (p->length < 4 || !maybe_excluded(p->text)))
		return STATE_CLASS_NONE;
	enum state_class_id class = path_excluded(p);
	return !class && of_pmix(p) ? STATE_CLASS_MPI : class;
}

/* An exclusion, by default or by a setting, can be undone by the default rescue or by a setting. */
static enum state_class_id filtered_class(int module, const struct path *p)
{
	enum state_class_id class = default_class(p);
	if (!class && filter_hits(&config.name.exclude, module, p->text))
		class = STATE_CLASS_FILTERED;
	if (class && (path_rescued(p) || filter_hits(&config.name.include, module, p->text)))
		class = STATE_CLASS_NONE;
	return class;
}

/* Verdicts by key and module: a repeated open runs no expression and cleans no path again. */
enum { VERDICTS = 4096 };

/* The key's upper bits, and the class in the lowest eight. Atomic: any thread writes any of them, each a whole verdict. */
static uint64_t verdicts[VERDICTS];

static bool have_rules(void)
{
	return config.name.exclude.rules || config.name.include.rules;
}

static uint64_t verdict_key(int module, uint64_t key)
{
	return key ^ (uint64_t)(module + 1) * UINT64_C(0xd6e8feb86659fd93);
}

static bool remembered(uint64_t verdict, enum state_class_id *class)
{
	uint64_t seen = __atomic_load_n(&verdicts[(verdict >> 8) % VERDICTS], __ATOMIC_RELAXED);
	if (!seen || (seen | 255) != (verdict | 255))
		return false;
	*class = (enum state_class_id)(seen & 255);
	return true;
}

enum state_class_id names_class(int module, const struct path *p)
{
	enum state_class_id class;
	if (!have_rules() && !maybe_excluded(p->text))
		return STATE_CLASS_NONE;
	uint64_t verdict = verdict_key(module, key_of(p->text, p->length));
	if (remembered(verdict, &class))
		return class;
	class = filtered_class(module, p);
	__atomic_store_n(&verdicts[(verdict >> 8) % VERDICTS], (verdict & ~UINT64_C(255)) | class, __ATOMIC_RELAXED);
	return class;
}

enum state_class_id names_open_class(int module, const struct path *p)
{
	enum state_class_id class = names_class(module, p);
	if (class || !self.mpi || filter_hits(&config.name.include, module, p->text))
		return class;
	return STATE_CLASS_MPI;
}

bool names_may_lead(const char *path)
{
	static const char *const links[] = {"/std", "/fd/", "/cwd/", "/root/", "/exe", "/map_files/"};
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (strstr(path, links[i]))
			return true;
	return path[0] != '/';
}

void names_count_class(enum state_class_id class)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	shard->class[class].opens++;
	self_shard_done();
}

/* ---- the table: open addressing, grown by doubling; entries never move ---- */

struct slot {
	uint64_t key;
	struct name *name;
};

struct table {
	size_t size;
	uint32_t *halves; /* as many, of the ids that are taken; 0 = free */
	struct slot slot[];
};

/* Written under the lock of the names, and by the one thread of a forked child. `table` is atomic: it is read without the lock. */
static struct table *table;
static size_t used;

static bool has_names(void)
{
	return table;
}

/* Also without the lock: a key is there before its name. */
static struct slot *find_in(struct table *t, uint64_t key)
{
	size_t at = key & (t->size - 1);
	while (__atomic_load_n(&t->slot[at].name, __ATOMIC_ACQUIRE) && t->slot[at].key != key)
		at = (at + 1) & (t->size - 1);
	return &t->slot[at];
}

/* Half of an id, never 0: what says that it may be taken. */
static uint32_t half_of(uint64_t id)
{
	uint32_t half = (uint32_t)(id >> 32);
	return half ? half : 1;
}

/* Where half of the id stands, or is to. */
static uint32_t *place_of(struct table *t, uint64_t id)
{
	size_t at = multiply(id ^ secret[1], secret[0]) & (t->size - 1);
	while (t->halves[at] && t->halves[at] != half_of(id))
		at = (at + 1) & (t->size - 1);
	return &t->halves[at];
}

/* Its half is mostly not there; where it is, the names themselves are asked. */
static bool is_taken(uint64_t id)
{
	bool taken = false;
	for (size_t i = 0; *place_of(table, id) && i < table->size && !taken; i++)
		taken = table->slot[i].name && table->slot[i].name->id == id;
	return taken;
}

static bool grow(void)
{
	size_t size = table ? 2 * table->size : 128;
	struct table *larger = arena_take(sizeof *larger + size * (sizeof *larger->slot + sizeof *larger->halves));
	if (!larger)
		return false;
	larger->size = size;
	larger->halves = (uint32_t *)&larger->slot[size];
	for (size_t i = 0; table && i < table->size; i++)
		if (table->slot[i].name) {
			*find_in(larger, table->slot[i].key) = table->slot[i];
			*place_of(larger, table->slot[i].name->id) = half_of(table->slot[i].name->id);
		}
	__atomic_store_n(&table, larger, __ATOMIC_RELEASE);
	return true;
}

/* Of a name without entry. Its hash may be that of another name (Darshan's is no secret): these are two files. */
static uint64_t free_id(const struct path *p)
{
	uint64_t id, level = 0;
	do
		id = log_hash(p->text, p->length, level++);
	while (!id || is_taken(id));
	return id;
}

static enum names_layout layout_of(enum mounts_layouts l)
{
	return l == MOUNTS_LUSTRE ? NAMES_LAYOUT : l == MOUNTS_BEHIND ? NAMES_LAYOUT_BEHIND : NAMES_ASKED;
}

static struct name *make(const struct path *p, bool overflow, enum store_use use)
{
	uint64_t id = free_id(p);
	const char *text = store_name(id, p->text, p->length, use);
	struct name *n = text ? arena_take(sizeof *n) : NULL;
	struct mounts_place place = mounts_place(p->text);
	if (n)
		*n = (struct name){
			.id = id,
			.text = text,
			.alignment = place.alignment,
			.layout = overflow ? NAMES_ASKED : layout_of(place.layouts),
			.overflow = overflow,
			.dots = strstr(p->text, "/..") != NULL,
		};
	return n;
}

static struct name *entry(const struct path *p, bool overflow, enum store_use use)
{
	uint64_t key = key_of(p->text, p->length);
	struct slot *s = find_in(table, key);
	if (s->name)
		return s->name;
	struct name *n = make(p, overflow, use);
	if (n) {
		used++;
		*place_of(table, n->id) = half_of(n->id);
		s->key = key;
		__atomic_store_n(&s->name, n, __ATOMIC_RELEASE);
	}
	return n;
}

static bool have_room(void)
{
	return (table && 2 * used < table->size) || grow();
}

struct name *names_entry(const struct path *p, enum store_use use)
{
	return have_room() ? entry(p, false, use) : NULL;
}

struct name *names_shared_entry(const struct path *p, enum store_use use)
{
	struct name *shared = have_room() ? entry(p, true, use) : NULL;
	if (shared)
		shared->overflow = true; /* also where a file has that very name */
	return shared;
}

static inline struct name *find(uint64_t key)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	struct slot *s = t ? find_in(t, key) : NULL;
	struct name *n = s ? __atomic_load_n(&s->name, __ATOMIC_ACQUIRE) : NULL;
	return n && s->key == key ? n : NULL;
}

struct name *names_find(const struct path *p)
{
	return find(key_of(p->text, p->length));
}

/* Only a clean path has ever got a key, so that one which has a key needs no cleaning; a link before `..` may be none by now. */
static inline struct name *recall(int module, const char *text, size_t length, enum state_class_id *class)
{
	uint64_t key = key_of(text, length);
	if (have_rules() || maybe_excluded(text))
		if (!remembered(verdict_key(module, key), class) || *class)
			return NULL;
	struct name *n = find(key);
	return n && n->dots ? NULL : n;
}

enum { SHORT_PATH = 512 }; /* on the stack at each relative open: one that is longer is cleaned anew */

/* `path` behind the working directory, with nothing cleaned but a `./` before it; 0 if the directory must be read first. */
static size_t join(char text[SHORT_PATH], const char *path)
{
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	size_t n = strlen(path), before = 0;
	if (!lock_take_deep(&directory.lock))
		return 0;
	if (directory_kept() && directory.path.length + n + 2 <= SHORT_PATH && directory_recent()) {
		before = directory.path.length;
		memcpy(text, directory.path.text, before);
	}
	lock_drop_deep(&directory.lock);
	if (!before)
		return 0;
	if (before > 1)
		text[before++] = '/';
	memcpy(text + before, path, n + 1);
	return before + n;
}

/* Apart, for the room that a path takes on the stack. */
__attribute__((noinline)) static struct name *recall_relative(int module, const char *path, enum state_class_id *class)
{
	char text[SHORT_PATH];
	size_t n = join(text, path);
	return n ? recall(module, text, n, class) : NULL;
}

struct name *names_recall(int module, int dir, const char *path, enum state_class_id *class)
{
	*class = STATE_CLASS_NONE;
	if (!path || self.mpi)
		return NULL;
	if (path[0] == '/')
		return recall(module, path, strlen(path), class);
	return dir == AT_FDCWD && path[0] != '<' ? recall_relative(module, path, class) : NULL;
}

void names_reserve(void)
{
	if (!lock_take_deep(&directory.lock))
		return;
	bool known = directory_asked();
	lock_drop_deep(&directory.lock);
	if (!names_lock())
		return;
	mounts_place(known ? directory.path.text : "/");
	names_unlock();
}

void names_reset(void)
{
	path_forked();
	directory.ended = directory.begun; /* of threads that the child does not have */
	directory.kept = 0;
	first.name = 0;
	table = NULL;
	used = 0;
}
