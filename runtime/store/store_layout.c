#include "store_layout.h"

#include <string.h>

#include "schema.h"
#include "store_file.h"
#include "sys.h"
#include "thread.h"

enum {
	RESERVE = 16 * 1024, /* room for reserved records and names beyond the budget */
	LEAST_PIECE = 128 * 1024
};

/* The readers of other tools see a table of one row; the assembly knows the struct by its version. */
static const char store_state_schema[] = "version u64\nsize u64\n";

size_t store_state_bytes(size_t row)
{
	return section_in_place_size(store_state_schema, (uint32_t)row, 1, 0);
}

size_t store_piece(size_t bytes)
{
	size_t part = store_pages(bytes / (STORE_PIECES - 4));
	return part > LEAST_PIECE ? part : LEAST_PIECE;
}

static struct placed next_placed(struct store_plan *p, size_t room)
{
	struct placed at = {p->size, store_pages(room)};
	p->size += at.length;
	return at;
}

/* Of a store whose account of itself is lost, the snapshot infers where regions are (format/reading/snapshot.c). */
void store_plan(struct store_plan *p, const struct store_room *room)
{
	size_t each = room->budget + RESERVE;
	p->piece = store_piece(room->budget);
	p->size = 0;
	p->names = next_placed(p, store_pages(STORE_NAMES_AT) + store_pages(each));
	p->trace = next_placed(p, room->trace);
	p->communication = next_placed(p, room->communication ? STATE_COMMUNICATION_BYTES : 0);
	p->sites = next_placed(p, SITE_ROOM(store_pages(each)));
	for (int i = 0; i < WRITTEN_COUNT; i++)
		p->module[i] = next_placed(p, each);
	p->state = next_placed(p, store_pages(store_state_bytes(sizeof(struct process_state))) + STORE_PAGE);
}

void store_fill_head(char *head, const struct store_plan *p, const struct store_owner *owner)
{
	struct header *h = (struct header *)head;
	struct job *j = (struct job *)(head + CONTAINER_HEADER);
	memcpy(h->version, "3.41", 4);
	h->magic = CONTAINER_MAGIC;
	h->compression = LOG_PLAIN;
	h->names.offset = STORE_NAMES_AT;
	for (int i = 0; i < WRITTEN_COUNT; i++) {
		h->module[written_modules[i].module].offset = p->module[i].offset;
		h->module_version[written_modules[i].module] = schema_modules[written_modules[i].module].version;
	}
	j->uid = owner->user;
	j->start = owner->process.started / 1000000000;
	j->start_ns = owner->process.started % 1000000000;
	j->nprocs = 1;
	j->id = owner->job;
	strcpy(j->metadata, "lib_ver=iolens-" IOLENS_VERSION "\n");
	memcpy(j->command, owner->command, strnlen(owner->command, STORE_COMMAND));
}

static struct trailer_entry entry_of(const char *name, struct placed at)
{
	struct trailer_entry e = {
		.offset = at.offset, .stored = at.length, .raw = at.length, .flags = TRAILER_IN_PLACE};
	strncpy(e.name, name, sizeof e.name - 1);
	return e;
}

struct process_state *store_fill_trailer(char *region, uint64_t state, size_t row_size,
					 const struct store_beside *beside, struct trailer_entry *entry, uint64_t tail)
{
	struct process_state *row =
		section_in_place(entry, region - state, state, "live", store_state_schema, (uint32_t)row_size, 1, 0);
	if (row)
		entry->rows = 1;
	entry[1] = entry_of(TRACE_SECTION, beside->trace);
	entry[2] = entry_of(COMMUNICATION_SECTION, beside->communication);
	entry[3] = entry_of(SITES_SECTION, beside->sites);
	footer_in_place((struct trailer_footer *)(entry + STORE_SECTIONS), tail, STORE_SECTIONS);
	return row;
}

struct store_laid store_laid AT_START; /* set once, before the process is asleep */

/* ---- a store of which nothing is mapped yet ---- */

/* One after the other in the same memory: the stack's pages that a program has no use for are not made by us. */
union laid_text {
	char text[STORE_NAMES_AT] __attribute__((aligned(64)));
	struct trailer_entry tail[(STORE_TAIL + sizeof(struct trailer_entry) - 1) / sizeof(struct trailer_entry)];
};

_Static_assert(offsetof(struct process_state, overflow) + 256 < STORE_NAMES_AT,
	       "a row's begin, and the schema before it");

static uint64_t tail_at(const struct store_plan *p)
{
	return p->state.offset + p->state.length - STORE_TAIL;
}

static bool lay_head(int fd, const struct store_plan *p, const struct store_owner *owner)
{
	union laid_text t;
	size_t n = sizeof(struct header) + offsetof(struct job, command) + strnlen(owner->command, STORE_COMMAND);
	memset(&t, 0, n);
	store_fill_head(t.text, p, owner);
	store_laid.head = store_pages(n);
	return sys_write_at(fd, t.text, n, 0);
}

static bool lay_state(int fd, const struct store_plan *p, const struct store_owner *owner)
{
	union laid_text t;
	struct trailer_entry entry;
	struct process_state *row = section_in_place(&entry, t.text - p->state.offset, p->state.offset, "live",
						     store_state_schema, sizeof(struct process_state), 1, 0);
	if (!row)
		return false;
	size_t at = (size_t)((char *)row - t.text), n = at + offsetof(struct process_state, overflow);
	memset(t.text + sizeof store_state_schema - 1, 0, n - (sizeof store_state_schema - 1));
	row->version = STATE_VERSION;
	row->size = sizeof *row;
	row->process = owner->process;
	row->process.own_moved[IO_WRITE] = sys_own_written + (int64_t)n + STORE_TAIL;
	store_laid.process_at = p->state.offset + at + offsetof(struct process_state, process);
	store_laid.state = store_pages(n);
	return sys_write_at(fd, t.text, n, p->state.offset);
}

static bool lay_tail(int fd, const struct store_plan *p)
{
	union laid_text t;
	char schema[sizeof store_state_schema];
	struct store_beside beside = {p->trace, p->communication, p->sites};
	memset(&t, 0, STORE_TAIL);
	return store_fill_trailer(schema, p->state.offset, sizeof(struct process_state), &beside, t.tail, tail_at(p)) &&
	       sys_write_at(fd, &t, STORE_TAIL, tail_at(p));
}

bool store_lay_down(int dir, const char *path, const struct store_room *room, const struct store_owner *owner)
{
	struct store_plan p;
	store_plan(&p, room);
	int fd = store_file_create(dir, path, p.size);
	bool good = fd >= 0 && lay_head(fd, &p, owner) && lay_state(fd, &p, owner) && lay_tail(fd, &p);
	if (fd >= 0)
		sys_close(fd);
	if (fd >= 0 && !good)
		sys_unlink_at(dir, strrchr(path, '/') + 1);
	return good;
}

bool store_retell(const char *path, const struct state_process *process)
{
	/* Another process may have set a limit meanwhile. */
	if (!store_file_may_reach(store_laid.process_at + sizeof *process))
		return false;
	int fd = sys_open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0);
	bool good = fd >= 0 && sys_write_at(fd, process, sizeof *process, store_laid.process_at);
	if (fd >= 0)
		sys_close(fd);
	return good;
}
