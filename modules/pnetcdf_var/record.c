#include "record.h"

#include <errno.h>

#include "fds.h"
#include "file.h"
#include "frequent.h"
#include "mpi/types.h"
#include "site.h"
#include "sizes.h"
#include "variable.h"

struct pnetcdf_var_file {
	FILE_HEAD(struct pnetcdf_var_record);
	int last_op; /* of the last access, -1 = none yet */
	struct patterns patterns;
};

static void made(struct file *f)
{
	((struct pnetcdf_var_file *)f)->last_op = -1;
}

static const struct file_kind kind = {WRITTEN_PNETCDF_VAR, sizeof(struct pnetcdf_var_file), made};

/* ---- variables of open files ---- */

/* Holds the file's lock. */
static void describe(struct pnetcdf_var_file *f, const struct pnetcdf_variable *v, uint64_t file_id)
{
	struct pnetcdf_var_record *r = f->record;
	if (names_is_overflow(f->name)) /* of many variables */
		return;
	r->file_rec_id = file_id;
	r->ndims = v->dimensions;
	r->npoints = v->elements;
	r->datatype_size = v->element_size;
	r->is_record_var = v->records >= 0;
}

/* Keeps what the program uses, however it came to know of it: excluded or without room it has no file. */
static struct pnetcdf_variable *learn(struct pnetcdf_library *l, int file, int number)
{
	struct path name;
	uint64_t file_id;
	struct pnetcdf_variable v = {.number = number};
	bool known = variable_name(l, file, number, &name, &file_id) && variable_ask(l, file, &v);
	self_enter();
	struct pnetcdf_var_file *f = v.file = known ? file_of(&kind, &name) : NULL;
	if (f && lock_take(&f->lock)) {
		describe(f, &v, file_id);
		lock_drop(&f->lock);
	}
	struct pnetcdf_variable *kept = pnetcdf_keep_variable(l, file, &v);
	self_leave();
	return kept;
}

static struct pnetcdf_variable *variable(struct pnetcdf_library *l, int file, int number)
{
	struct pnetcdf_variable *v = pnetcdf_find_variable(l, file, number);
	if (v)
		return v;
	int saved = errno;
	v = learn(l, file, number);
	errno = saved;
	return v;
}

void pnetcdf_var_on_open(struct pnetcdf_span s, int file, const int *number, int code)
{
	if (!s.library || code || !number)
		return;
	double end = clock_now();
	struct pnetcdf_variable *v = variable(s.library, file, *number);
	struct pnetcdf_var_file *f = v ? v->file : NULL;
	if (!f)
		return;
	self_enter();
	if (lock_take(&f->lock)) {
		f->record->opens++;
		site_opened(&f->file, kind.slot);
		file_stamp(&f->record->open_start_timestamp, &f->record->open_end_timestamp, s.start, end);
		FILE_TIME(f, IO_META, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
}

/* ---- accesses ---- */

enum { OUT_OF_RANGE = -60 }; /* NC_ERANGE: some values were not representable, and all was moved */

/* The variable of a call that moved something; NULL: there is nothing to record. */
static struct pnetcdf_variable *moved(struct pnetcdf_span s, int file, int number, int code)
{
	if (!s.library || (code && code != OUT_OF_RANGE))
		return NULL;
	struct pnetcdf_variable *v = variable(s.library, file, number);
	return v && v->file ? v : NULL;
}

/* Holds the file's lock. */
static void count_access(struct pnetcdf_var_file *f, struct pnetcdf_how how, enum io_op op, int64_t bytes,
			 const struct pattern *shape)
{
	struct pnetcdf_var_record *r = f->record;
	(&r->put_var)[how.verb + how.form]++;
	(&r->indep_reads)[2 * how.mode + op]++;
	FILE_BY_OP(r, op, bytes_read, bytes_written) += bytes;
	(op == IO_READ ? r->size_read_agg : r->size_write_agg)[sizes_class(bytes)]++;
	r->rw_switches += f->last_op >= 0 && f->last_op != (int)op;
	f->last_op = (int)op;
	if (shape)
		patterns_add(&f->patterns, shape, r->access, r->access_count);
	else
		patterns_add_bytes(&f->patterns, bytes, r->access, r->access_count);
}

/* shape: NULL where there is none. */
static void record(struct pnetcdf_span s, struct pnetcdf_how how, const struct pnetcdf_variable *v, int64_t bytes,
		   const struct pattern *shape, double end)
{
	struct pnetcdf_var_file *f = v->file;
	enum io_op op = how.verb == VERB_GET || how.verb == VERB_IGET ? IO_READ : IO_WRITE;
	self_enter();
	if (lock_take(&f->lock)) {
		count_access(f, how, op, bytes, shape);
		FILE_ACCESS_TIME(f, op, bytes, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
}

static void whole(struct pnetcdf_span s, struct pnetcdf_how how, int file, const struct pnetcdf_variable *v, double end)
{
	int saved = errno;
	int64_t records = variable_records(s.library, file, v);
	errno = saved;
	record(s, how, v, records * v->elements * v->element_size, NULL, end);
}

void pnetcdf_var_on_whole(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, int code)
{
	double end = s.library ? clock_now() : 0;
	struct pnetcdf_variable *v = moved(s, file, number, code);
	if (v)
		whole(s, how, file, v, end);
}

void pnetcdf_var_on_element(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, int code)
{
	double end = s.library ? clock_now() : 0;
	struct pnetcdf_variable *v = moved(s, file, number, code);
	if (v)
		record(s, how, v, v->element_size, NULL, end);
}

/* Of more than five dimensions the last ones, which vary fastest; the slowest of them first. */
static struct pattern pattern_of(const struct pnetcdf_variable *v, bool strided, const int64_t *count,
				 const int64_t *stride)
{
	struct pattern p = {.bytes = v->element_size};
	int from = v->dimensions > PATTERN_DIMENSIONS ? v->dimensions - PATTERN_DIMENSIONS : 0;
	for (int i = 0; i < from; i++)
		p.bytes *= count[i];
	for (int i = from; i < v->dimensions; i++) {
		p.bytes *= count[i];
		p.length[i - from] = count[i];
		if (strided)
			p.stride[i - from] = stride ? stride[i] : 1;
	}
	return p;
}

static void part(struct pnetcdf_span s, struct pnetcdf_how how, const struct pnetcdf_variable *v, const int64_t *count,
		 const int64_t *stride, double end)
{
	if (v->dimensions && !count)
		return;
	struct pattern p = pattern_of(v, how.form == FORM_VARS || how.form == FORM_VARM, count, stride);
	record(s, how, v, p.bytes, &p, end);
}

void pnetcdf_var_on_part(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, const int64_t *count,
			 const int64_t *stride, int code)
{
	double end = s.library ? clock_now() : 0;
	struct pnetcdf_variable *v = moved(s, file, number, code);
	if (v)
		part(s, how, v, count, stride, end);
}

static int64_t elements_of(const struct pnetcdf_variable *v, const int64_t *count)
{
	int64_t elements = 1;
	for (int i = 0; count && i < v->dimensions; i++)
		elements *= count[i];
	return elements;
}

void pnetcdf_var_on_parts(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, int parts,
			  const int64_t *const *counts, int code)
{
	double end = s.library ? clock_now() : 0;
	struct pnetcdf_variable *v = moved(s, file, number, code);
	if (!v)
		return;
	int64_t elements = 0;
	for (int i = 0; i < parts; i++)
		elements += elements_of(v, counts ? counts[i] : NULL);
	record(s, how, v, elements * v->element_size, NULL, end);
}

void pnetcdf_var_on_type(struct pnetcdf_span s, struct pnetcdf_how how, int file, int number, uintptr_t type, int code)
{
	double end = s.library ? clock_now() : 0;
	struct pnetcdf_variable *v = moved(s, file, number, code);
	if (v)
		record(s, how, v, mpi_bytes(1, type), NULL, end);
}

void pnetcdf_var_on_many(struct pnetcdf_span s, struct pnetcdf_how how, int file, struct pnetcdf_many m, int code)
{
	double step = s.library && m.variables > 0 ? (clock_now() - s.start) / m.variables : 0;
	for (int i = 0; s.library && i < m.variables; i++, s.start += step) {
		struct pnetcdf_variable *v = moved(s, file, m.numbers[i], code);
		if (v && how.form == FORM_VAR)
			whole(s, how, file, v, s.start + step);
		else if (v && how.form == FORM_VAR1)
			record(s, how, v, v->element_size, NULL, s.start + step);
		else if (v)
			part(s, how, v, m.counts ? m.counts[i] : NULL, m.strides ? m.strides[i] : NULL, s.start + step);
	}
}
