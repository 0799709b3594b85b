#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, MAPPED = 1 << 20, PAGE = 4096, PAGES_AT_ONCE = 64 << 10 };

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static uint8_t *slab_get(size_t size)
{
	if (size < MAPPED)
		return aligned_alloc(ALIGNMENT, size);
	uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void slab_put(uint8_t *at, size_t size)
{
	if (size < MAPPED)
		free(at);
	else
		munmap(at, size);
}

static size_t column_bytes(const struct form_column *c, int64_t room)
{
	return round_up(((size_t)room + 1) * column_width(&c->is), ALIGNMENT);
}

static size_t slab_bytes(const struct form *f, int64_t room)
{
	size_t size = ALIGNMENT;
	for (size_t i = 0; i < f->ncolumns; i++)
		size += column_bytes(&f->columns[i], room);
	return size < MAPPED ? size : round_up(size, MAPPED);
}

/* One more than there are rows. */
static bool has_offsets(const struct column_form *c)
{
	return c->type == COLUMN_TEXT || c->shape == SHAPE_LIST;
}

static int move_columns(struct table *t, uint8_t *slab, int64_t room)
{
	int code = LOG_OK;
	for (size_t i = 0; i < t->form->ncolumns; i++) {
		struct column *c = &t->columns[i];
		const struct form_column *f = &t->form->columns[i];
		if (c->values)
			memcpy(slab, c->values, ((size_t)t->rows + has_offsets(&f->is)) * column_width(&f->is));
		else
			memset(slab, 0, column_width(&f->is));
		c->values = slab;
		c->ready = slab;
		slab += column_bytes(f, room);
		if (!c->valid)
			continue;
		uint8_t *valid = realloc(c->valid, (size_t)room / 8 + 1);
		if (valid) {
			memset(valid + t->room / 8 + 1, 0xff, (size_t)(room / 8 - t->room / 8));
			c->valid = valid;
		} else {
			code = LOG_E_MEMORY;
		}
	}
	return code;
}

static int table_resize(struct table *t, int64_t room)
{
	size_t size = slab_bytes(t->form, room), old_size = t->slab_size;
	uint8_t *slab = slab_get(size), *old = t->slab;
	if (!slab)
		return LOG_E_MEMORY;
	int code = move_columns(t, slab, room);
	t->slab = slab;
	t->slab_size = size;
	t->room = room;
	t->zeroed = size >= MAPPED;
	if (old)
		slab_put(old, old_size);
	return code;
}

struct table *table_new(struct form *form, int64_t room, int64_t limit)
{
	struct table *t = log_alloc(sizeof *t + form->ncolumns * sizeof *t->columns);
	if (!t)
		return NULL;
	atomic_init(&t->refs, 1);
	t->form = form_hold(form);
	t->limit = limit;
	if (table_resize(t, room < limit ? room : limit) >= 0)
		return t;
	table_drop(t);
	return NULL;
}

void table_drop(struct table *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	for (size_t i = 0; i < t->form->ncolumns; i++) {
		free(t->columns[i].valid);
		log_bytes_free(&t->columns[i].bytes);
		dictionary_drop(t->columns[i].dictionary);
	}
	if (t->slab)
		slab_put(t->slab, t->slab_size);
	form_drop(t->form);
	log_free(t);
}

int64_t table_room(struct table *t, int64_t n)
{
	if (n > t->limit - t->rows)
		n = t->limit - t->rows;
	if (t->rows + n <= t->room)
		return n;
	int64_t room = t->room * 2 > t->rows + n ? t->room * 2 : t->rows + n;
	int code = table_resize(t, room < t->limit ? room : t->limit);
	return code < 0 ? code : n;
}

void table_ready(struct table *t, int slot, uint8_t *at, size_t n)
{
	struct column *c = &t->columns[slot];
	if (at + n <= c->ready)
		return;
	uint8_t *from = at > c->ready ? at : c->ready;
	from = t->slab + (size_t)(from - t->slab) / PAGE * PAGE;
	size_t most = (size_t)(t->slab + t->slab_size - from);
	c->ready = from + (most < PAGES_AT_ONCE ? most : PAGES_AT_ONCE);
#ifdef MADV_POPULATE_WRITE
	madvise(from, (size_t)(c->ready - from), MADV_POPULATE_WRITE);
#endif
}

static int make_nullable(struct table *t, int slot)
{
	struct column *c = &t->columns[slot];
	if (c->valid)
		return LOG_OK;
	c->valid = malloc((size_t)t->room / 8 + 1);
	if (!c->valid)
		return LOG_E_MEMORY;
	memset(c->valid, 0xff, (size_t)t->room / 8 + 1);
	return LOG_OK;
}

int table_null(struct table *t, int slot, int64_t row, int64_t n)
{
	struct column *c = &t->columns[slot];
	if (make_nullable(t, slot) < 0)
		return LOG_E_MEMORY;
	for (int64_t i = row; i < row + n; i++)
		c->valid[i / 8] &= (uint8_t) ~(1u << (i % 8));
	c->nulls += n;
	return LOG_OK;
}

void table_set_i64(struct table *t, int added, int64_t value)
{
	int slot = t->form->slot[added];
	if (slot == NOT_SELECTED)
		return;
	memcpy(table_at(t, slot, t->rows), &value, t->form->columns[slot].is.type >= COLUMN_I32 ? 4 : 8);
}

void table_set_f64(struct table *t, int added, double value)
{
	int slot = t->form->slot[added];
	if (slot != NOT_SELECTED)
		memcpy(table_at(t, slot, t->rows), &value, 8);
}

static int end_element(struct table *t, int slot, size_t end)
{
	int32_t offset = (int32_t)end;
	memcpy(table_at(t, slot, t->rows + 1), &offset, sizeof offset);
	return LOG_OK;
}

int table_set_null(struct table *t, int added)
{
	int slot = t->form->slot[added];
	if (slot == NOT_SELECTED)
		return LOG_OK;
	const struct column_form *f = &t->form->columns[slot].is;
	size_t element = f->type == COLUMN_TEXT ? 1 : 8;
	if (f->type == COLUMN_TEXT || f->shape == SHAPE_LIST)
		end_element(t, slot, t->columns[slot].bytes.used / element);
	else
		memset(table_at(t, slot, t->rows), 0, column_width(f));
	return table_null(t, slot, t->rows, 1);
}

int table_set_text(struct table *t, int added, const char *text, size_t n)
{
	int slot = t->form->slot[added];
	if (slot == NOT_SELECTED)
		return LOG_OK;
	struct log_bytes *b = &t->columns[slot].bytes;
	int code = text_append(b, text, n);
	if (code >= 0 && b->used > INT32_MAX)
		code = LOG_E_MEMORY;
	return code < 0 ? code : end_element(t, slot, b->used);
}

int table_set_list(struct table *t, int added, const void *elements, size_t n)
{
	int slot = t->form->slot[added];
	if (slot == NOT_SELECTED)
		return LOG_OK;
	struct log_bytes *b = &t->columns[slot].bytes;
	int code = b->used / 8 + n > INT32_MAX ? LOG_E_MEMORY : log_bytes_add(b, elements, 8 * n);
	return code < 0 ? code : end_element(t, slot, b->used / 8);
}

void table_use_dictionary(struct table *t, int added, struct dictionary *d)
{
	int slot = t->form->slot[added];
	if (slot != NOT_SELECTED && !t->columns[slot].dictionary)
		t->columns[slot].dictionary = dictionary_hold(d);
}

/* ---- as Arrow ---- */

/* Every exported array holds the table; the element array of a list and a dictionary are part of their column. */
struct array_owner {
	struct table *table;
	const void *buffers[3];
	const void *inner_buffers[3];
	struct ArrowArray inner;
	struct ArrowArray *inner_at;
};

static void release_inner(struct ArrowArray *a)
{
	table_drop(a->private_data);
	a->release = NULL;
}

static void release_column(struct ArrowArray *a)
{
	struct array_owner *o = a->private_data;
	if (o->inner.release)
		o->inner.release(&o->inner);
	table_drop(o->table);
	free(o);
	a->release = NULL;
}

static void release_table(struct ArrowArray *a)
{
	for (int64_t i = 0; i < a->n_children; i++) {
		if (a->children[i]->release)
			a->children[i]->release(a->children[i]);
		free(a->children[i]);
	}
	free(a->children);
	free(a->buffers);
	table_drop(a->private_data);
	a->release = NULL;
}

static struct table *table_hold(struct table *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

/* Consumers may want a pointer even where there is nothing. */
static const void *or_something(const void *p)
{
	static const uint64_t nothing[8];
	return p ? p : nothing;
}

static void fill_inner(struct array_owner *o, int64_t length, int64_t buffers)
{
	o->inner = (struct ArrowArray){
		.length = length,
		.n_buffers = buffers,
		.buffers = o->inner_buffers,
		.release = release_inner,
		.private_data = table_hold(o->table),
	};
	o->inner_at = &o->inner;
}

static void fill_dictionary(struct array_owner *o, const struct dictionary *d)
{
	static const int32_t no_offsets[1];
	fill_inner(o, d ? d->count : 0, 3);
	o->inner_buffers[1] = d ? d->offsets : no_offsets;
	o->inner_buffers[2] = or_something(d ? d->bytes.at : NULL);
}

static int export_column(struct table *t, size_t i, struct ArrowArray *out)
{
	const struct column *c = &t->columns[i];
	const struct column_form *f = &t->form->columns[i].is;
	struct array_owner *o = calloc(1, sizeof *o);
	if (!o)
		return ENOMEM;
	o->table = table_hold(t);
	*out = (struct ArrowArray){
		.length = t->rows,
		.null_count = c->nulls,
		.n_buffers = 2,
		.buffers = o->buffers,
		.release = release_column,
		.private_data = o,
	};
	o->buffers[0] = c->valid;
	o->buffers[1] = c->values;
	if (f->shape == SHAPE_FIXED) {
		fill_inner(o, t->rows * f->count, 2);
		o->inner_buffers[1] = c->values;
		out->n_buffers = 1;
	} else if (f->shape == SHAPE_LIST) {
		fill_inner(o, (int64_t)(c->bytes.used / 8), 2);
		o->inner_buffers[1] = or_something(c->bytes.at);
	} else if (f->type == COLUMN_TEXT) {
		o->buffers[2] = or_something(c->bytes.at);
		out->n_buffers = 3;
	} else if (f->type == COLUMN_CODE) {
		fill_dictionary(o, c->dictionary);
		out->dictionary = &o->inner;
	}
	if (f->shape != SHAPE_ONE) {
		out->n_children = 1;
		out->children = &o->inner_at;
	}
	return 0;
}

int table_export(struct table *t, struct ArrowArray *out)
{
	*out = (struct ArrowArray){
		.length = t->rows,
		.n_buffers = 1,
		.buffers = calloc(1, sizeof *out->buffers),
		.children = calloc(t->form->ncolumns + 1, sizeof *out->children),
		.release = release_table,
		.private_data = t,
	};
	int code = out->buffers && out->children ? 0 : ENOMEM;
	for (size_t i = 0; i < t->form->ncolumns && !code; i++) {
		struct ArrowArray *child = calloc(1, sizeof *child);
		code = child ? export_column(t, i, child) : ENOMEM;
		if (code)
			free(child);
		else
			out->children[out->n_children++] = child;
	}
	if (code)
		release_table(out);
	return code;
}
