#include "record.h"

#include <errno.h>

#include "../h5f/record.h"
#include "arena.h"
#include "dataset.h"
#include "fds.h"
#include "file.h"
#include "life.h"
#include "operation.h"
#include "selection.h"
#include "self.h"
#include "site.h"
#include "sizes.h"
#include "trace.h"

struct h5d_file {
	FILE_HEAD(struct h5d_record);
	int last_op; /* of the last access, -1 = none yet */
	bool described;
	struct patterns patterns;
};

static void made(struct file *f)
{
	((struct h5d_file *)f)->last_op = -1;
}

static const struct file_kind kind = {WRITTEN_H5D, sizeof(struct h5d_file), made};

/* ---- open datasets ---- */

static struct h5_open *find(const struct h5_library *l, int64_t id)
{
	return handles_find(&l->datasets, (uintptr_t)h5_id(l, id));
}

static void describe(struct h5d_file *f, const struct h5_library *l, const struct dataset *d)
{
	struct h5d_record *r = f->record;
	f->described = true;
	if (!l->H5Dflush)
		r->flushes = -1;
	if (!l->H5Sis_regular_hyperslab)
		r->regular_hyperslab_selects = r->irregular_hyperslab_selects = -1;
	if (names_is_overflow(f->name)) /* of many datasets */
		return;
	r->dataspace_ndims = d->dimensions;
	r->dataspace_npoints = d->elements;
	r->datatype_size = d->element_size;
	for (int i = 0; d->layout && i < PATTERN_DIMENSIONS; i++)
		r->chunk_size[i] = d->chunk[i];
}

/* What of a file a transfer selects. */
struct chosen {
	enum selection_kind kind;
	int64_t bytes;
	const struct pattern *shape; /* NULL: all of it, or what the transfer's list says */
};

/* ---- datasets without a name: h5py makes them so, writes, and links them ---- */

enum { UNNAMED_TRANSFERS = 8 };

struct transfer {
	enum io_op how;
	bool collective;
	struct chosen chosen;
	double start, end;
};

struct h5d_unnamed {
	int transfers; /* the first ones are kept */
	struct transfer transfer[UNNAMED_TRANSFERS];
	struct pattern pattern[UNNAMED_TRANSFERS];
	struct h5d_unnamed *next_unused;
};

static struct lock unnamed_lock;           /* guards the list of those that no thread uses */
static struct h5d_unnamed *unnamed_unused; /* under the lock */

static struct h5d_unnamed *unnamed_take(void)
{
	struct h5d_unnamed *u = NULL;
	if (!self_enter_locked(&unnamed_lock))
		return NULL;
	u = unnamed_unused;
	if (u)
		unnamed_unused = u->next_unused;
	else
		u = arena_take(sizeof *u);
	if (u)
		u->transfers = 0;
	self_leave_locked(&unnamed_lock);
	return u;
}

static void unnamed_release(struct h5_open *open)
{
	struct h5d_unnamed *u = open->unnamed;
	open->unnamed = NULL;
	if (!u || !self_enter_locked(&unnamed_lock))
		return;
	u->next_unused = unnamed_unused;
	unnamed_unused = u;
	self_leave_locked(&unnamed_lock);
}

static void unnamed_forget(void)
{
	unnamed_unused = NULL;
}

/* NULL: excluded, without a name, or no room. */
static struct h5d_file *file_at(struct h5_library *l, int64_t id, enum dataset_naming *naming)
{
	struct path name;
	uint64_t file_id;
	*naming = dataset_name(l, id, &name, &file_id);
	if (*naming != DATASET_NAMED)
		return NULL;
	self_enter();
	struct h5d_file *f = file_of(&kind, &name);
	if (f && !names_is_overflow(f->name))
		f->record->file_rec_id = file_id;
	self_leave();
	return f;
}

/*
 * Keeps what the program has opened, however it did: excluded, without a name or without room it has no file. Keeps errno.
 * Outside self_enter.
 */
static struct h5_open *learn(struct h5_library *l, int64_t id, bool created)
{
	int saved = errno;
	struct h5_quiet before = h5_quiet(l);
	enum dataset_naming naming;
	struct h5d_file *f = file_at(l, id, &naming);
	bool unnamed = naming == DATASET_UNNAMED;
	struct dataset d = f || unnamed ? dataset_ask(l, id, created || unnamed || !f->described) : (struct dataset){0};
	h5_loud(l, before);
	struct h5_open open = {
		{NULL}, f, d.element_size, d.elements, (int)d.dimensions, unnamed ? unnamed_take() : NULL};
	self_enter();
	struct h5_open *kept = handles_add(&l->datasets, (uintptr_t)h5_id(l, id), &open);
	if (f && lock_take(&f->lock)) {
		describe(f, l, &d);
		lock_drop(&f->lock);
	}
	self_leave();
	errno = saved;
	return kept;
}

void h5d_on_open(struct h5_span s, int64_t id, bool created, bool deprecated)
{
	if (!s.library || h5_id(s.library, id) < 0)
		return;
	double end = clock_now();
	struct h5_open *open = learn(s.library, id, created);
	struct h5d_file *f = open ? open->file : NULL;
	self_enter();
	if (f && lock_take(&f->lock)) {
		f->record->opens++;
		site_opened(&f->file, kind.slot);
		f->record->use_deprecated = deprecated;
		file_stamp(&f->record->open_start_timestamp, &f->record->open_end_timestamp, s.start, end);
		FILE_TIME(f, IO_META, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
}

enum { KIND_DATASET = 5 }; /* H5I_DATASET, of all releases */

void h5d_on_object(struct h5_span s, int64_t id)
{
	int saved = errno;
	if (s.library && h5_id(s.library, id) >= 0 && s.library->H5Iget_type(id) == KIND_DATASET)
		h5d_on_open(s, id, false, false);
	errno = saved;
}

void h5d_on_close(struct h5_span s, int64_t id, int result)
{
	if (!s.library || result < 0 || !find(s.library, id))
		return;
	double end = clock_now();
	self_enter();
	struct h5_open *open = handles_remove(&s.library->datasets, (uintptr_t)h5_id(s.library, id));
	struct h5d_file *f = open ? open->file : NULL;
	if (f && lock_take(&f->lock)) {
		file_stamp(&f->record->close_start_timestamp, &f->record->close_end_timestamp, s.start, end);
		FILE_TIME(f, IO_META, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
	if (!open)
		return;
	unnamed_release(open);
	self_enter();
	handles_release(&s.library->datasets, open);
	self_leave();
}

void h5d_on_flush(struct h5_span s, int64_t id, int result)
{
	struct h5_open *open = s.library && result >= 0 ? find(s.library, id) : NULL;
	struct h5d_file *f = open ? open->file : NULL;
	if (!f)
		return;
	double end = clock_now();
	self_enter();
	if (lock_take(&f->lock)) {
		f->record->flushes++;
		FILE_TIME(f, IO_META, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
}

void h5d_on_extent(struct h5_span s, int64_t id, int result)
{
	struct h5_open *open = s.library && result >= 0 ? find(s.library, id) : NULL;
	if (!open)
		return;
	int saved = errno;
	struct dataset d = {0};
	dataset_extent(s.library, id, &d);
	open->elements = d.elements;
	errno = saved;
}

void h5d_on_space(struct h5_library *l, int64_t dataset, int64_t space)
{
	struct h5_open *open = l ? find(l, dataset) : NULL;
	if (open)
		selection_on_space(l, space, open->dimensions);
}

/* ---- transfers ---- */

enum { SPACE_ALL = 0, SPACE_OF_LIST = 2, LIST_DEFAULT = 0, COLLECTIVE = 1 }; /* H5S_ALL, H5S_PLIST, H5P_DEFAULT */

static int64_t elements_in_memory(struct h5_library *l, int64_t space)
{
	int saved = errno;
	int64_t elements = l->H5Sget_select_npoints(space);
	errno = saved;
	return elements;
}

/* What of the file a transfer selects; its shape may be in `room`. Ids of the library are larger than its special values. */
static struct chosen chosen_by(struct h5_library *l, const struct h5_open *open, const struct h5d_transfer *t,
			       struct selection *room)
{
	int64_t space = h5_id(l, t->space), elements = open->elements;
	if (__builtin_expect(space > SPACE_OF_LIST, 0)) {
		selection_of(l, space, open->dimensions, room);
		room->pattern.bytes = room->elements * open->element_size;
		return (struct chosen){room->kind, room->pattern.bytes, &room->pattern};
	}
	if (space == SPACE_OF_LIST && h5_id(l, t->memory) > SPACE_OF_LIST)
		elements = elements_in_memory(l, h5_id(l, t->memory));
	return (struct chosen){SELECTION_OTHER, elements * open->element_size, NULL};
}

static bool asks_collective(struct h5_library *l, int64_t list)
{
	int mode = 0, saved = errno;
	bool asks = l->H5Pget_dxpl_mpio && l->H5Pget_dxpl_mpio(list, &mode) >= 0 && mode == COLLECTIVE;
	errno = saved;
	return asks;
}

static bool collective(struct h5_library *l, const struct h5d_file *f, int64_t list)
{
	return list != LIST_DEFAULT && !(f && f->record->use_mpiio_collective) && asks_collective(l, list);
}

static void count_selection(struct h5d_record *r, enum selection_kind op)
{
	if (op == SELECTION_POINTS)
		r->point_selects++;
	else if (op == SELECTION_REGULAR)
		r->regular_hyperslab_selects++;
	else if (op == SELECTION_IRREGULAR)
		r->irregular_hyperslab_selects++;
}

static void count_access(struct h5d_file *f, enum io_op how, const struct chosen *c)
{
	struct h5d_record *r = f->record;
	FILE_BY_OP(r, how, reads, writes)++;
	FILE_BY_OP(r, how, bytes_read, bytes_written) += c->bytes;
	(how == IO_READ ? r->size_read_agg : r->size_write_agg)[sizes_class(c->bytes)]++;
	r->rw_switches += f->last_op >= 0 && f->last_op != (int)how;
	f->last_op = (int)how;
	if (c->shape)
		patterns_add(&f->patterns, c->shape, r->access, r->access_count);
	else
		patterns_add_bytes(&f->patterns, c->bytes, r->access, r->access_count);
}

/* Holds the file's lock. */
static inline __attribute__((always_inline)) void count_transfer(struct h5d_file *f, const struct transfer *t)
{
	f->record->use_mpiio_collective |= t->collective;
	count_selection(f->record, t->chosen.kind);
	count_access(f, t->how, &t->chosen);
	FILE_ACCESS_TIME(f, t->how, t->chosen.bytes, t->start, t->end);
	if (__builtin_expect(self.special, 0)) /* where its bytes are in the file only the library knows */
		trace_access(&f->file, TRACE_H5D, t->how, -1, t->chosen.bytes, t->start, t->end);
}

static void wait_for_name(struct h5d_unnamed *u, const struct transfer *t)
{
	if (u->transfers == UNNAMED_TRANSFERS)
		return;
	struct transfer *kept = &u->transfer[u->transfers];
	*kept = *t;
	if (kept->chosen.shape) {
		u->pattern[u->transfers] = *kept->chosen.shape;
		kept->chosen.shape = &u->pattern[u->transfers];
	}
	u->transfers++;
}

static void count_for_phases(enum io_op how, int64_t bytes)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	shard->calls[WRITTEN_H5D].count[how]++;
	shard->calls[WRITTEN_H5D].bytes[how] += bytes;
	self_shard_done();
}

void h5d_transfer(struct h5_span s, enum io_op how, const struct h5d_transfer *t, double end)
{
	struct h5_open *open = find(s.library, t->dataset);
	open = open ? open : learn(s.library, t->dataset, false);
	struct h5d_file *f = open ? open->file : NULL;
	struct h5d_unnamed *unnamed = open ? open->unnamed : NULL;
	if (!f && !unnamed)
		return;
	struct selection room;
	bool together = collective(s.library, f, h5_id(s.library, t->list));
	struct transfer one = {how, together, chosen_by(s.library, open, t, &room), s.start, end};
	if (!f) {
		wait_for_name(unnamed, &one);
		return;
	}
	self_enter();
	if (lock_take(&f->lock)) {
		count_transfer(f, &one);
		lock_drop(&f->lock);
	}
	count_for_phases(how, one.chosen.bytes);
	self_leave();
}

/* Its creation is an open, which began with the first transfer. */
static void count_unnamed(struct h5d_file *f, const struct h5_library *l, const struct h5d_unnamed *u,
			  const struct dataset *d, struct h5_span s, double end)
{
	double start = u->transfers ? u->transfer[0].start : s.start;
	describe(f, l, d);
	f->record->opens++;
	file_stamp(&f->record->open_start_timestamp, &f->record->open_end_timestamp, start, start);
	for (int i = 0; i < u->transfers; i++)
		count_transfer(f, &u->transfer[i]);
	FILE_TIME(f, IO_META, s.start, end);
}

void h5d_on_link(struct h5_span s, int64_t id, int result)
{
	struct h5_open *open = s.library && result >= 0 ? find(s.library, id) : NULL;
	if (!open || !open->unnamed)
		return;
	double end = clock_now();
	int saved = errno;
	enum dataset_naming naming;
	struct h5_quiet before = h5_quiet(s.library);
	struct h5d_file *f = file_at(s.library, id, &naming);
	struct dataset d = f ? dataset_ask(s.library, id, true) : (struct dataset){0};
	h5_loud(s.library, before);
	self_enter();
	if (f && lock_take(&f->lock)) {
		count_unnamed(f, s.library, open->unnamed, &d, s, end);
		lock_drop(&f->lock);
	}
	self_leave();
	if (naming != DATASET_UNNAMED) {
		unnamed_release(open);
		open->file = f;
	}
	errno = saved;
}

void h5d_on_posted(struct h5_span s, enum io_op how, struct h5d_transfer t, int64_t events, int result)
{
	if (!events || (s.library && find(s.library, t.dataset)))
		h5d_on_transfer(s, how, t, result);
	else
		h5d_on_operation(s, how == IO_READ ? STATE_OP_HDF5_POSTED_READ : STATE_OP_HDF5_POSTED_WRITE, 0, result);
}

void h5d_on_transfers(struct h5_span s, enum io_op how, size_t count, const int64_t *datasets, const int64_t *memory,
		      const int64_t *spaces, int64_t list, int result)
{
	if (!s.library || result < 0 || !count)
		return;
	double step = (clock_now() - s.start) / (double)count;
	for (size_t i = 0; i < count; i++, s.start += step) {
		struct h5d_transfer t = {datasets[i], memory[i], spaces[i], list};
		h5d_transfer(s, how, &t, s.start + step);
	}
}

/* ---- what is counted by name ---- */

void h5d_on_operation(struct h5_span s, enum state_operation_id operation, int64_t bytes, int result)
{
	if (!s.library)
		return;
	double end = clock_now();
	self_enter();
	operation_count_only(operation, result < 0, result < 0 ? 0 : bytes, end - s.start);
	self_leave();
}

int64_t h5d_attribute_bytes(struct h5_span s, int64_t attribute, int result)
{
	if (!s.library || result < 0 || !s.library->H5Aget_storage_size)
		return 0;
	int saved = errno;
	int64_t bytes = (int64_t)s.library->H5Aget_storage_size(attribute);
	errno = saved;
	return bytes;
}

int64_t h5d_chunk_bytes(struct h5_span s, int64_t dataset, const uint64_t *offset, int result)
{
	uint64_t bytes = 0;
	if (!s.library || result < 0 || !s.library->H5Dget_chunk_storage_size)
		return 0;
	int saved = errno;
	int got = s.library->H5Dget_chunk_storage_size(dataset, offset, &bytes);
	errno = saved;
	return got < 0 ? 0 : (int64_t)bytes;
}

LIFE_MODULE(h5d, .module = LOG_MOD_H5D, .fork_restore = unnamed_forget);
