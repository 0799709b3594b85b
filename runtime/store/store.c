#include "store.h"

#include <string.h>

#include "thread.h"
#include "config.h"
#include "container.h"
#include "lock.h"
#include "schema.h"
#include "store_file.h"
#include "store_header.h"
#include "store_layout.h"
#include "store_limit.h"
#include "sys.h"
#include "trailer.h"

enum { GRANT = 64 * 1024, SELDOM = 10, STORE_LARGE = 8192 /* a record and a name */ };

/* A part of the memory that readers get of the store. */
struct store_part {
	struct store_region *region;
	size_t used;
};

enum { PARTS = WRITTEN_COUNT + 5 };

/* Made by the one thread that wakes the process; then under its lock. What readers of the store go by is stored last. */
static struct {
	size_t budget;
	size_t spent;
	size_t granted;   /* of all that is spent, the trace included */
	unsigned refused; /* times, one after the other, and */
	unsigned left;    /* requests until it is asked again */
	const char *path;
	struct store_region names;                 /* with the header and the job region in front */
	struct store_region module[WRITTEN_COUNT]; /* each has room for the whole budget: the file is sparse */
	int64_t records[WRITTEN_COUNT];
	struct store_region trace;         /* of no capacity where nothing is traced */
	struct store_region communication; /* the same where none is counted; one piece */
	struct store_region sites;
	struct store_region
		state; /* the trailer: its section "live", whose row is the struct process_state, and its end */
	struct process_state *row;
	size_t oldest; /* in the trace */
	struct lock lock;
	char *memory; /* NULL = not requested */
	struct store_part shown[PARTS];
} store AT_START;

static void place(const struct store_plan *p)
{
	store_region_place(&store.names, &p->names, p->piece);
	store_region_place(&store.trace, &p->trace, store_piece(p->trace.length));
	store_region_place(&store.communication, &p->communication, STATE_COMMUNICATION_BYTES);
	store_region_place(&store.sites, &p->sites, store_piece(p->sites.length));
	for (int i = 0; i < WRITTEN_COUNT; i++)
		store_region_place(&store.module[i], &p->module[i], p->piece);
	store_region_place(&store.state, &p->state, p->state.length);
	store.names.used = STORE_NAMES_AT;
	store.sites.used = SITE_HEAD;
}

static struct header *header(void)
{
	return (struct header *)store.names.piece[0];
}

static size_t state_offset(const void *at)
{
	return (size_t)((const char *)at - store.state.piece[0]);
}

/* The last page is the trailer's alone, and is known to exist before any other of the region. */
static bool make_trailer(const struct store_plan *p, bool laid_down)
{
	struct store_region *r = &store.state;
	size_t last = r->capacity - STORE_PAGE;
	r->touched = last;
	if (!store_region_reach(r, r->capacity))
		return false;
	r->touched = laid_down ? store_laid.state : 0;
	if (!store_region_reach(r, CONTAINER_HEADER + offsetof(struct process_state, optional)))
		return false;
	struct store_beside beside = {p->trace, p->communication, p->sites};
	size_t tail = r->capacity - STORE_TAIL;
	store.row = store_fill_trailer(r->piece[0], r->offset, sizeof(struct process_state), &beside,
				       (struct trailer_entry *)(r->piece[0] + tail), r->offset + tail);
	if (!store.row)
		return false;
	r->touched = state_offset(store.row->shard) & ~(size_t)(STORE_PAGE - 1);
	store.row->version = STATE_VERSION;
	store.row->size = sizeof(struct process_state);
	return true;
}

enum { IMAGE_HEAD = (STORE_NAMES_AT + STORE_PAGE - 1) / STORE_PAGE * STORE_PAGE };

static size_t memory_size(const struct store_part *part)
{
	size_t n = IMAGE_HEAD + STORE_PAGE;
	for (int i = 0; i < PARTS; i++)
		n += store_pages(part[i].used);
	return n;
}

static void drop_memory(void)
{
	if (store.memory)
		sys_unmap(store.memory, memory_size(store.shown));
	store.memory = NULL;
}

/* What was laid down stays as it is, so that readers find it at each moment. */
static bool begin_store(const struct store_plan *p, const struct store_owner *owner, bool laid_down)
{
	store.names.touched = laid_down ? store_laid.head : 0;
	if (!store_region_reach(&store.names, STORE_NAMES_AT))
		return false;
	if (!laid_down)
		store_fill_head(store.names.piece[0], p, owner);
	if (!make_trailer(p, laid_down))
		return false;
	if (!laid_down)
		store.row->process = owner->process;
	return true;
}

bool store_make(int dir, const char *path, const struct store_room *room, const struct store_owner *owner,
		bool laid_down)
{
	struct store_region *regions[PARTS] = {&store.names, &store.state};
	int n = 2;
	for (int i = 0; i < WRITTEN_COUNT; i++)
		regions[n++] = &store.module[i];
	if (room->trace)
		regions[n++] = &store.trace;
	if (room->communication)
		regions[n++] = &store.communication;
	regions[n++] = &store.sites;
	for (int i = 2; i < n; i++)
		regions[i]->late = true;
	for (int i = 0; i < WRITTEN_COUNT; i++) /* what every other program does has a page of its own */
		store.module[i].rare = i != WRITTEN_POSIX && i != WRITTEN_STDIO;
	store.budget = room->budget;
	store.spent = store.oldest = 0;
	store.granted = GRANT / 2;
	store.refused = store.left = 0;
	store.path = path;
	memset(store.records, 0, sizeof store.records);
	store.lock.owner = 0;
	drop_memory();
	struct store_plan p;
	store_plan(&p, room);
	place(&p);
	if (!store_file_make(dir, path, p.size, laid_down, regions, n))
		return false;
	if (begin_store(&p, owner, laid_down))
		return true;
	if (!laid_down)
		sys_unlink_at(dir, strrchr(path, '/') + 1);
	return false;
}

int64_t *store_hold(int64_t *counter)
{
	uintptr_t inside = (uintptr_t)counter & (STORE_PAGE - 1);
	long page = sys_call(SYS_mremap, (long)((uintptr_t)counter - inside), 0, STORE_PAGE, MREMAP_MAYMOVE, 0, 0);
	return page < 0 && page > -4096 ? NULL : (int64_t *)((uintptr_t)page + inside);
}

void store_let_go(int64_t *counter)
{
	if (counter)
		sys_unmap((void *)((uintptr_t)counter & ~(uintptr_t)(STORE_PAGE - 1)), STORE_PAGE);
}

static bool ask_for_more(size_t n)
{
	size_t more = n > GRANT ? n : GRANT;
	bool good = store_limit_grow(store.path, store.granted, more);
	store.granted += good ? more : 0;
	store.refused = good ? 0 : store.refused + (store.refused < SELDOM);
	store.left = good ? 0 : 1U << store.refused;
	return good;
}

/* A refused request is repeated at growing intervals: room may become free. */
static bool may_grow(size_t n)
{
	size_t all = store.spent + store.trace.used + n;
	if (all <= store.granted)
		return true;
	if (!store.left)
		return ask_for_more(n);
	store.left--;
	return false;
}

static size_t room_for(enum store_use use)
{
	size_t budget = store.budget;
	return use == STORE_PROGRAM ? budget / 2 : use == STORE_DATA ? budget - budget / 8 : budget;
}

bool store_is_narrow(void)
{
	return store.spent + STORE_LARGE > room_for(STORE_PROGRAM);
}

unsigned store_heavy_halvings(void)
{
	size_t left = store.spent < store.budget ? store.budget - store.spent : 0, whole = store.budget / 8;
	unsigned n = 0;
	while (n < 8 && left <= whole >> (n + 1))
		n++;
	return n;
}

static void *take(struct store_region *r, size_t n, enum store_use use)
{
	bool reserved = use == STORE_SHARED;
	if ((!reserved && (store.spent + n > room_for(use) || !may_grow(n))) || !store_region_reach(r, r->used + n))
		return NULL;
	char *at = store_region_at(r, r->used);
	if (at)
		store.spent += n;
	return at;
}

static bool at_limit(enum written slot, size_t size, enum store_use use)
{
	const struct written_module *w = &written_modules[slot];
	int64_t most = config.max_records[w->module];
	return (most && store.records[slot] >= most) || store.module[slot].used + size > room_for(use) / w->at_most;
}

/* Inside the store's lock. */
static void *take_record(enum written slot, uint64_t id, size_t size, enum store_use use)
{
	uint64_t *record = NULL;
	if (use == STORE_SHARED || !at_limit(slot, size, use))
		record = take(&store.module[slot], size, use);
	if (record)
		*record = id;
	return record;
}

static void publish_record(enum written slot, size_t size)
{
	struct store_region *r = &store.module[slot];
	r->used += size;
	store.records[slot]++;
	__atomic_store_n(&header()->module[written_modules[slot].module].length, r->used, __ATOMIC_RELEASE);
}

void *store_record(enum written slot, uint64_t id, enum store_use use)
{
	size_t size = written_modules[slot].size;
	if (!lock_take_deep(&store.lock))
		return NULL;
	void *record = take_record(slot, id, size, use);
	if (record)
		publish_record(slot, size);
	lock_drop_deep(&store.lock);
	return record;
}

void *store_record_filled(enum written slot, uint64_t id, size_t size, store_fill *fill, const void *context)
{
	if (size > STORE_OVERLAP || !lock_take_deep(&store.lock))
		return NULL;
	void *record = take_record(slot, id, size, STORE_DATA);
	if (record) {
		fill(record, context);
		publish_record(slot, size);
	}
	lock_drop_deep(&store.lock);
	return record;
}

const char *store_name(uint64_t id, const char *name, size_t length, enum store_use use)
{
	size_t n = sizeof id + length + 1;
	if (!lock_take_deep(&store.lock))
		return NULL;
	char *at = take(&store.names, n, use);
	if (at) {
		memcpy(at, &id, sizeof id);
		memcpy(at + sizeof id, name, length);
		store.names.used += n;
		__atomic_store_n(&header()->names.length, store.names.used - STORE_NAMES_AT, __ATOMIC_RELEASE);
	}
	lock_drop_deep(&store.lock);
	return at ? at + sizeof id : NULL;
}

void *store_trace(size_t n)
{
	struct store_region *r = &store.trace;
	if (!lock_take_deep(&store.lock))
		return NULL;
	char *at = may_grow(n) && store_region_reach(r, r->used + n) ? store_region_at(r, r->used) : NULL;
	if (at) {
		r->used += n;
		__atomic_store_n(&store.row->trace.used, r->used, __ATOMIC_RELEASE);
	}
	lock_drop_deep(&store.lock);
	return at;
}

void *store_trace_again(size_t n)
{
	struct store_region *r = &store.trace;
	if (!lock_take_deep(&store.lock))
		return NULL;
	size_t at = store.oldest + n <= r->used ? store.oldest : 0;
	char *oldest = r->used >= n ? store_region_at(r, at) : NULL;
	store.oldest = at + n;
	lock_drop_deep(&store.lock);
	return oldest;
}

void *store_site(const void *entry, size_t n)
{
	struct store_region *r = &store.sites;
	if (!lock_take_deep(&store.lock))
		return NULL;
	char *at = store_region_reach(r, r->used + n) ? store_region_at(r, r->used) : NULL;
	if (at) {
		memcpy(at, entry, n);
		r->used += n;
		__atomic_store_n(&store.row->sites, r->used, __ATOMIC_RELEASE);
	} else {
		store.row->sites_lost = true;
	}
	lock_drop_deep(&store.lock);
	return at;
}

struct state_communication *store_communication(const struct state_shard *shard)
{
	struct store_region *r = &store.communication;
	uint64_t n = (uint64_t)(shard - store.row->shard) + 1;
	if (!lock_take_deep(&store.lock))
		return NULL;
	bool there = store_region_reach(r, n * sizeof(struct state_communication));
	if (there && n > store.row->communicating)
		__atomic_store_n(&store.row->communicating, n, __ATOMIC_RELEASE);
	lock_drop_deep(&store.lock);
	return there ? (struct state_communication *)r->piece[0] + n - 1 : NULL;
}

void store_partial(int module)
{
	__atomic_fetch_or(&header()->partial, UINT64_C(1) << module, __ATOMIC_RELAXED);
}

void store_forget(void)
{
	store.budget = 0;
	header()->names.length = 0;
	for (int i = 0; i < WRITTEN_COUNT; i++)
		header()->module[written_modules[i].module].length = 0;
	store.trace.capacity = 0;
	store.row->trace = (struct state_trace){0};
	store.communication.capacity = 0;
	store.row->communicating = 0;
	store.sites.capacity = 0;
	store.row->sites = 0;
	int64_t shards = state_rows((int64_t)store.row->shards, STATE_SHARDS);
	for (struct state_shard *s = store.row->shard; s < store.row->shard + shards; s++)
		memset(s->class, 0, sizeof *s - offsetof(struct state_shard, class));
}

void store_reserve(int files, size_t name)
{
	if (!lock_take_deep(&store.lock))
		return;
	store_region_reach(&store.names, store.names.used + (size_t)files * name);
	for (int i = 0; i < WRITTEN_COUNT; i++) {
		struct store_region *r = &store.module[i];
		if (!r->rare)
			store_region_reach(r, r->used + (size_t)files * written_modules[i].size);
	}
	lock_drop_deep(&store.lock);
}

bool store_touch(const void *at, size_t n)
{
	if (!lock_take_deep(&store.lock))
		return false;
	bool there = store_region_reach(&store.state, state_offset(at) + n);
	lock_drop_deep(&store.lock);
	return there;
}

bool store_touch_optional(enum state_optional_part part, const void *at, size_t n)
{
	if (!lock_take_deep(&store.lock))
		return false;
	bool there = store.row->has & part || store_region_touch(&store.state, state_offset(at), state_offset(at) + n);
	if (there)
		__atomic_fetch_or(&store.row->has, part, __ATOMIC_RELEASE);
	lock_drop_deep(&store.lock);
	return there;
}

/* Rows come in order. A page that has rows already is not touched again, which would empty its first bytes. */
bool store_touch_folded(const void *at, size_t n)
{
	if (!lock_take_deep(&store.lock))
		return false;
	size_t from = state_offset(at), end = from + n;
	if (at != store.row->optional.folded)
		from = store_pages(from);
	bool there = from >= end || store_region_touch(&store.state, from, end);
	if (there)
		__atomic_fetch_or(&store.row->has, STATE_HAS_FOLDED, __ATOMIC_RELEASE);
	lock_drop_deep(&store.lock);
	return there;
}

struct process_state *store_state(void)
{
	return store.row;
}

/* ---- the memory: what the file has, without what it only has room for ---- */

/* Shards that no thread ever had are left out. */
static size_t used_row(void)
{
	size_t shards = store.row->shards < STATE_SHARDS ? store.row->shards : STATE_SHARDS;
	return offsetof(struct process_state, shard) + shards * sizeof(struct state_shard);
}

static void list_parts(struct store_part *part)
{
	size_t names = __atomic_load_n(&header()->names.length, __ATOMIC_ACQUIRE);
	*part++ = (struct store_part){&store.names, STORE_NAMES_AT + names};
	for (int i = 0; i < WRITTEN_COUNT; i++) {
		size_t n = __atomic_load_n(&header()->module[written_modules[i].module].length, __ATOMIC_ACQUIRE);
		*part++ = (struct store_part){&store.module[i], n};
	}
	*part++ = (struct store_part){&store.trace, __atomic_load_n(&store.row->trace.used, __ATOMIC_ACQUIRE)};
	size_t blocks = __atomic_load_n(&store.row->communicating, __ATOMIC_ACQUIRE);
	*part++ = (struct store_part){&store.communication, blocks * sizeof(struct state_communication)};
	*part++ = (struct store_part){&store.sites, __atomic_load_n(&store.row->sites, __ATOMIC_ACQUIRE)};
	*part = (struct store_part){&store.state, store_state_bytes(used_row())};
}

/* Regions are elsewhere in the memory than in the file: a header and a trailer of its own tell where. */
static bool show(char *memory, const struct store_part *part)
{
	size_t row = part[PARTS - 1].used - (size_t)((char *)store.row - store.state.piece[0]);
	struct header *h = (struct header *)memory;
	size_t at[PARTS], next = IMAGE_HEAD;
	for (int i = 0; i < PARTS; next += store_pages(part[i++].used)) {
		at[i] = next;
		if (part[i].used && !store_region_at(part[i].region, part[i].used - 1))
			return false;
		if (!store_region_show(part[i].region, memory + next, part[i].used))
			return false;
	}
	memcpy(memory, header(), STORE_NAMES_AT);
	h->names = (struct placed){at[0] + STORE_NAMES_AT, part[0].used - STORE_NAMES_AT};
	for (int i = 0; i < WRITTEN_COUNT; i++)
		h->module[written_modules[i].module] = (struct placed){at[1 + i], part[1 + i].used};
	struct store_beside beside = {.trace = {at[PARTS - 4], part[PARTS - 4].used},
				      .communication = {at[PARTS - 3], part[PARTS - 3].used},
				      .sites = {at[PARTS - 2], part[PARTS - 2].used}};
	uint64_t tail = next + STORE_PAGE - STORE_TAIL;
	return store_fill_trailer(memory + at[PARTS - 1], at[PARTS - 1], row, &beside,
				  (struct trailer_entry *)(memory + tail), tail);
}

const void *store_memory(size_t *size)
{
	struct store_part part[PARTS];
	list_parts(part);
	*size = memory_size(part);
	if (store.memory && memcmp(part, store.shown, sizeof part) == 0)
		return store.memory;
	drop_memory();
	memcpy(store.shown, part, sizeof part);
	store.memory = sys_map(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (store.memory && !show(store.memory, part))
		drop_memory();
	*size = store.memory ? *size : 0;
	return store.memory;
}

size_t store_bytes(void)
{
	size_t n = header()->names.length;
	for (int i = 0; i < WRITTEN_COUNT; i++)
		n += header()->module[written_modules[i].module].length;
	return n;
}

/* ---- the job region ---- */

static struct job *job(void)
{
	return (struct job *)(store.names.piece[0] + CONTAINER_HEADER);
}

void store_mount(const char *type, const char *point)
{
	char *at = job()->command;
	size_t used = strnlen(at, STORE_COMMAND), m = strlen(type), n = strlen(point);
	if (used + m + n + 2 > STORE_COMMAND)
		return;
	at += used + 1;
	memcpy(at, type, m);
	at[m] = '\t';
	memcpy(at + m + 1, point, n);
	job()->command[used] = '\n';
}
