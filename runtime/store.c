#include "store.h"

#include <string.h>
#include <sys/resource.h>

#include "config.h"
#include "lock.h"
#include "container.h"
#include "schema.h"
#include "sys.h"
#include "trailer.h"

enum {
	PAGE = 4096,
	RESERVE = 16 * 1024, /* room for reserved records and names beyond the budget */
	NAMES_AT = CONTAINER_HEADER + CONTAINER_JOB_MAX,
	COMMAND_MAX = 3015,
};

/* Modules that have records in the store. Each has room for the whole budget: the file is sparse. */
static const int stored[] = {LOG_MOD_POSIX, LOG_MOD_MPIIO, LOG_MOD_STDIO};
enum { STORED = sizeof stored / sizeof *stored };

struct placed {
	uint64_t offset;
	uint64_t length;
};

/* The header of a 3.41 log. */
struct header {
	char version[8];
	int64_t magic;
	uint8_t compression;
	uint8_t padding[7];
	uint64_t partial;
	struct placed names;
	struct placed module[LOG_MAX_MODULES];
	uint32_t module_version[LOG_MAX_MODULES];
};

_Static_assert(sizeof(struct header) == CONTAINER_HEADER, "header of the format");

struct region {
	char *base;
	size_t used;
	char *touched; /* pages below are known to exist */
};

static struct {
	char *base;
	size_t size;
	size_t budget;
	size_t spent;
	struct region names;
	struct region module[STORED];
	struct region live; /* the section "live" of the trailer; its row is the struct live */
	struct live *row;
	char *tail; /* the trailer's directory and footer */
	struct lock lock;
} store;

static size_t pages(size_t n)
{
	return (n + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* The kernel's copy to user memory reports a page that cannot be had; a store of ours would be SIGBUS. */
static bool touch_page(char *page)
{
	if (sys_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)page, 0, 0, 0, 0) != 0)
		return false;
	memset(page, 0, sizeof(struct timespec));
	return true;
}

static bool touch_until(struct region *r, const char *end)
{
	for (; r->touched < end; r->touched += PAGE)
		if (!touch_page(r->touched))
			return false;
	return true;
}

static void region_place(struct region *r, char **at, size_t capacity)
{
	*r = (struct region){.base = *at, .touched = *at};
	*at += pages(capacity);
}

/* The readers of other tools see a table of one row; the assembly knows the struct by its version. */
static const char live_schema[] = "version u64\nsize u64\n";

static size_t live_bytes(void)
{
	return live_section_size(live_schema, sizeof(struct live), 1, 0);
}

static size_t layout(char *base, size_t budget)
{
	char *at = base + pages(NAMES_AT);
	store.names = (struct region){.base = base + NAMES_AT, .touched = at};
	at += pages(budget + RESERVE);
	for (int i = 0; i < STORED; i++)
		region_place(&store.module[i], &at, budget + RESERVE);
	region_place(&store.live, &at, live_bytes());
	region_place(&(struct region){0}, &at, PAGE);
	store.tail = at - sizeof(struct trailer_entry) - sizeof(struct trailer_footer);
	return (size_t)(at - base);
}

/* To grow a file beyond the process's limit is answered with a signal, which would be its end. */
static bool may_grow(size_t size)
{
	struct rlimit limit;
	return sys_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) == 0 && size <= limit.rlim_cur;
}

static void *map_file(int dir, const char *name, void *at, size_t size)
{
	int fd = sys_open_at(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	void *got = NULL;
	if (may_grow(size) && sys_truncate(fd, (int64_t)size) == 0)
		got = sys_map(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd);
	sys_close(fd);
	if (!got)
		sys_unlink_at(dir, name);
	return got;
}

static struct header *header(void)
{
	return (struct header *)store.base;
}

static bool write_header(void)
{
	struct region head = {.base = store.base, .touched = store.base};
	if (!touch_until(&head, store.base + NAMES_AT))
		return false;
	struct header *h = header();
	memcpy(h->version, "3.41", 4);
	h->magic = CONTAINER_MAGIC;
	h->compression = LOG_PLAIN;
	h->names.offset = NAMES_AT;
	for (int i = 0; i < STORED; i++) {
		h->module[stored[i]].offset = (uint64_t)(store.module[i].base - store.base);
		h->module_version[stored[i]] = schema_modules[stored[i]].version;
	}
	return true;
}

static bool write_trailer(void)
{
	struct region tail = {.touched = store.base + store.size - PAGE};
	struct trailer_entry *entry = (struct trailer_entry *)store.tail;
	uint64_t at = (uint64_t)(store.live.base - store.base);
	if (!touch_until(&tail, store.base + store.size) ||
	    !touch_until(&store.live, store.live.base + CONTAINER_HEADER + offsetof(struct live, shard)))
		return false;
	store.row = live_section(entry, store.base, at, "live", live_schema, sizeof(struct live), 1, 0);
	if (!store.row)
		return false;
	store.row->version = LIVE_VERSION;
	store.row->size = sizeof(struct live);
	entry->rows = 1;
	live_footer((struct trailer_footer *)(entry + 1), (uint64_t)(store.tail - store.base), 1);
	return true;
}

bool store_make(int dir, const char *name, size_t budget)
{
	void *again = store.base;
	store.budget = budget;
	store.spent = 0;
	store.lock.held = 0;
	store.size = layout(again, budget);
	store.base = map_file(dir, name, again, store.size);
	if (!store.base)
		return false;
	layout(store.base, budget);
	return write_header() && write_trailer();
}

static void *take(struct region *r, size_t n, bool reserved)
{
	if ((store.spent + n > store.budget && !reserved) || !touch_until(r, r->base + r->used + n))
		return NULL;
	store.spent += n;
	return r->base + r->used;
}

static int slot_of(int module)
{
	for (int i = 0; i < STORED; i++)
		if (stored[i] == module)
			return i;
	return -1;
}

static bool at_limit(int module, const struct region *r, size_t size)
{
	int64_t most = config.max_records[module];
	return most && r->used / size >= (size_t)most;
}

void *store_record(int module, size_t size, uint64_t id, bool reserved)
{
	int slot = slot_of(module);
	lock_take(&store.lock);
	struct region *r = &store.module[slot];
	struct posix_record *record = NULL;
	if (reserved || !at_limit(module, r, size))
		record = take(r, size, reserved);
	if (record) {
		record->id = id;
		r->used += size;
		__atomic_store_n(&header()->module[module].length, r->used, __ATOMIC_RELEASE);
	}
	lock_drop(&store.lock);
	return record;
}

const char *store_name(uint64_t id, const char *name, size_t length, bool reserved)
{
	size_t n = sizeof id + length + 1;
	lock_take(&store.lock);
	char *at = take(&store.names, n, reserved);
	if (at) {
		memcpy(at, &id, sizeof id);
		memcpy(at + sizeof id, name, length);
		store.names.used += n;
		__atomic_store_n(&header()->names.length, store.names.used, __ATOMIC_RELEASE);
	}
	lock_drop(&store.lock);
	return at ? at + sizeof id : NULL;
}

void store_partial(int module)
{
	__atomic_fetch_or(&header()->partial, UINT64_C(1) << module, __ATOMIC_RELAXED);
}

void store_forget(void)
{
	lock_take(&store.lock);
	store.budget = 0;
	header()->names.length = 0;
	for (int i = 0; i < STORED; i++)
		header()->module[stored[i]].length = 0;
	for (struct live_shard *s = store.row->shard; s < store.row->shard + store.row->shards; s++)
		memset(s->class, 0, sizeof *s - offsetof(struct live_shard, class));
	lock_drop(&store.lock);
}

bool store_touch(const void *at, size_t n)
{
	lock_take(&store.lock);
	bool there = touch_until(&store.live, (const char *)at + n);
	lock_drop(&store.lock);
	return there;
}

struct live *store_live(void)
{
	return store.row;
}

const void *store_image(size_t *size)
{
	*size = store.size;
	return store.base;
}

size_t store_bytes(void)
{
	size_t n = header()->names.length;
	for (int i = 0; i < STORED; i++)
		n += header()->module[stored[i]].length;
	return n;
}

/* ---- the job region: 56 bytes of numbers, the metadata, the command line with the mounts ---- */

struct job {
	int64_t uid;
	int64_t start, start_ns;
	int64_t end, end_ns;
	int64_t nprocs;
	int64_t id;
	char metadata[CONTAINER_METADATA];
	char command[CONTAINER_JOB_MAX - CONTAINER_JOB];
};

static struct job *job(void)
{
	return (struct job *)(store.base + CONTAINER_HEADER);
}

void store_job(int64_t uid, int64_t started, int64_t id, const char *command)
{
	struct job *j = job();
	j->uid = uid;
	j->start = started / 1000000000;
	j->start_ns = started % 1000000000;
	j->nprocs = 1;
	j->id = id;
	strcpy(j->metadata, "lib_ver=iolens-" IOLENS_VERSION "\n");
	memcpy(j->command, command, strnlen(command, COMMAND_MAX));
}

void store_mount(const char *type, const char *point)
{
	char *at = job()->command;
	size_t used = strlen(at), m = strlen(type), n = strlen(point);
	if (used + m + n + 2 > COMMAND_MAX)
		return;
	at += used + 1;
	memcpy(at, type, m);
	at[m] = '\t';
	memcpy(at + m + 1, point, n);
	job()->command[used] = '\n';
}
