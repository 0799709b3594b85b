#include "live_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "reduce.h"
#include "reduce_plan.h"
#include "schema.h"
#include "store_reader.h"

/* ---- names ---- */

struct live_names {
	struct index ids;
	struct known {
		uint64_t id;
		char *name;
		char file_system[24];
	} * known; /* by number */
};

struct live_names *live_names_make(void)
{
	return calloc(1, sizeof(struct live_names));
}

void live_names_free(struct live_names *n)
{
	for (size_t k = 0; n && k < n->ids.used; k++)
		free(n->known[k].name);
	if (n) {
		log_free(n->known);
		index_free(&n->ids);
	}
	free(n);
}

static const struct known *find_known(const struct live_names *n, uint64_t id)
{
	size_t number = index_find(&n->ids, id);
	return number == SIZE_MAX ? NULL : &n->known[number];
}

const char *live_name(const struct live_names *n, uint64_t id)
{
	const struct known *k = find_known(n, id);
	return k ? k->name : NULL;
}

const char *live_file_system(const struct live_names *n, uint64_t id)
{
	const struct known *k = find_known(n, id);
	return k ? k->file_system : "";
}

size_t live_names_count(const struct live_names *n)
{
	return n->ids.used;
}

const char *live_names_at(const struct live_names *n, size_t number, uint64_t *id, const char **file_system)
{
	*id = n->known[number].id;
	*file_system = n->known[number].file_system;
	return n->known[number].name;
}

void live_names_learn(struct live_names *n, uint64_t id, const char *name, const char *file_system)
{
	bool is_new;
	if (find_known(n, id) || !index_grow(&n->known, n->ids.used, sizeof *n->known))
		return;
	size_t number = index_number(&n->ids, id, &is_new);
	if (number == SIZE_MAX)
		return;
	struct known *k = &n->known[number];
	*k = (struct known){.id = id, .name = strdup(name)};
	snprintf(k->file_system, sizeof k->file_system, "%s", file_system);
}

/* Names are read of a store only where it has a record without one. */
static void learn_name(struct live_names *n, struct log *log, uint64_t id)
{
	const struct log_job *job;
	const char *name = find_known(n, id) ? NULL : log_name(log, id);
	if (!name)
		return;
	const struct log_pair *mount = log_job(log, &job, NULL) >= 0 ? log_mount_of(job, name) : NULL;
	live_names_learn(n, id, name, mount && *name == '/' ? mount->value : "");
}

/* ---- counts ---- */

void live_counts_add(struct live_counts *to, const struct live_counts *from)
{
	for (int op = 0; op < 2; op++) {
		to->calls[op] += from->calls[op];
		to->bytes[op] += from->bytes[op];
	}
	to->opens += from->opens;
	for (int op = 0; op < IO_OPS; op++)
		to->time[op] += from->time[op];
}

static int64_t more(int64_t now, int64_t before)
{
	return now > before ? now - before : 0;
}

struct live_counts live_counts_since(const struct live_counts *now, const struct live_counts *before)
{
	struct live_counts c = {.opens = more(now->opens, before->opens)};
	for (int op = 0; op < 2; op++) {
		c.calls[op] = more(now->calls[op], before->calls[op]);
		c.bytes[op] = more(now->bytes[op], before->bytes[op]);
	}
	for (int op = 0; op < IO_OPS; op++)
		c.time[op] = now->time[op] > before->time[op] ? now->time[op] - before->time[op] : 0;
	return c;
}

/* ---- records ---- */

static int64_t count_of(const struct log_record *r, enum field_role role)
{
	int64_t n = reduce_i64(r->schema, r->data, role);
	return n > 0 ? n : 0;
}

static double time_of(const struct log_record *r, enum field_role role)
{
	double t = reduce_f64(r->schema, r->data, role);
	return t > 0 && t < 1e12 ? t : 0;
}

static int64_t size_of(const struct log_record *r, int64_t moved, enum field_role role)
{
	return moved > 0 && schema_by_role(r->schema, role) ? reduce_i64(r->schema, r->data, role) + 1 : 0;
}

static struct live_record record_of(const struct log_record *r)
{
	struct live_record made = {.id = r->id};
	struct live_counts *c = &made.counts;
	c->calls[IO_READ] = count_of(r, ROLE_READS);
	c->calls[IO_WRITE] = count_of(r, ROLE_WRITES);
	c->bytes[IO_READ] = count_of(r, ROLE_BYTES_READ);
	c->bytes[IO_WRITE] = count_of(r, ROLE_BYTES_WRITTEN);
	c->opens = reduce_opens(r->schema, r->data);
	c->time[IO_READ] = time_of(r, ROLE_READ_TIME);
	c->time[IO_WRITE] = time_of(r, ROLE_WRITE_TIME);
	c->time[IO_META] = time_of(r, ROLE_META_TIME);
	int64_t read = size_of(r, c->bytes[IO_READ], ROLE_MAX_OFFSET_READ);
	int64_t written = size_of(r, c->bytes[IO_WRITE], ROLE_MAX_OFFSET_WRITTEN);
	made.size = read > written ? read : written;
	return made;
}

/* Of the lowest interface that has them. */
static void add_sizes(struct live_store *s, const struct log_record *r)
{
	static const enum field_role roles[2] = {ROLE_SIZE_HIST_READ, ROLE_SIZE_HIST_WRITE};
	for (int op = 0; op < 2; op++) {
		const struct schema_field *f = schema_by_role(r->schema, roles[op]);
		int64_t counts[STATE_SIZES];
		if (!f || f->count != STATE_SIZES)
			continue;
		memcpy(counts, (const char *)r->data + f->offset, sizeof counts);
		for (int c = 0; c < STATE_SIZES; c++)
			s->sizes[op][c] += counts[c] > 0 ? counts[c] : 0;
	}
}

static int read_records(struct live_store *s, struct log *log, int slot, struct live_names *names,
			struct log_error *err)
{
	struct log_records *records;
	struct log_record r;
	const struct written_module *w = &written_modules[slot];
	if (!log_container(log)->module[w->module].length || !schema_by_role(&schema_modules[w->module], ROLE_OPENS))
		return 0;
	int code = log_records_open(&records, log, w->module, err);
	if (code < 0)
		return code;
	while ((code = log_records_next(records, &r, err)) > 0) {
		size_t *n = &s->nrecords[slot];
		if (!index_grow(&s->records[slot], *n, sizeof **s->records)) {
			code = log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
			break;
		}
		struct live_record *made = &s->records[slot][(*n)++];
		*made = record_of(&r);
		live_counts_add(&s->interface[slot], &made->counts);
		if (w->descriptors)
			add_sizes(s, &r);
		learn_name(names, log, r.id);
	}
	log_records_close(records);
	return code;
}

/* ---- what lies beside them ---- */

static void read_heat(struct live_store *s, const struct store_reader *reader)
{
	struct state_heat one;
	state_heat_cover(&s->heat, s->last);
	for (int h = 0; h < STATE_HEAT_COUNT; h++) {
		if (!written_modules[written_of_heat[h]].descriptors || !store_reader_heat(reader, h, s->last, &one))
			continue;
		for (int k = 0; k < 2; k++)
			for (int b = 0; b < STATE_BINS; b++)
				s->heat.bytes[k][b] += one.bytes[k][b];
	}
}

/* A thread that joins the bins of its heat map, or stretches of its timeline, would be read half before and half after. */
static uint64_t joined(const struct store_reader *reader)
{
	uint64_t sum = 0;
	for (size_t n = 0; n < reader->shards; n++) {
		const struct state_shard *shard = &reader->state->shard[n];
		sum += shard->timeline.compressed;
		for (int h = 0; h < STATE_HEAT_COUNT; h++)
			sum = sum * 31 + (uint64_t)(shard->heat[h].width * 1e9);
	}
	return sum;
}

static int load_state(struct store_reader *reader, struct log_error *err)
{
	enum { READINGS = 4 };
	int code = store_reader_load_state(reader, err);
	for (int n = 1; code >= 0 && n < READINGS; n++) {
		uint64_t before = joined(reader);
		store_reader_drop_state(reader);
		code = store_reader_load_state(reader, err);
		if (code >= 0 && joined(reader) == before)
			break;
	}
	return code;
}

static int read_all(struct live_store *s, struct store_reader *reader, struct live_names *names, struct log_error *err)
{
	const struct log_job *job;
	int code = load_state(reader, err);
	if (code >= 0)
		code = log_job(reader->log, &job, err);
	if (code < 0)
		return code;
	s->job = job->id;
	snprintf(s->command, sizeof s->command, "%s", job->exe);
	s->process = reader->state->process;
	s->process.host[sizeof s->process.host - 1] = s->process.exe[sizeof s->process.exe - 1] = '\0';
	s->last = store_reader_last(reader);
	s->threads = store_reader_threads(reader);
	for (int n = 0; n < STATE_OP_COUNT; n++)
		s->operation[n] = store_reader_operation(reader, n);
	for (int n = 1; n < STATE_CLASS_COUNT; n++)
		s->class[n] = store_reader_class(reader, n);
	read_heat(s, reader);
	for (int slot = 0; code >= 0 && slot < WRITTEN_COUNT; slot++)
		code = read_records(s, reader->log, slot, names, err);
	return code;
}

int live_store_read(struct live_store *s, const char *path, struct live_names *names, struct log_error *err)
{
	struct store_reader reader;
	*s = (struct live_store){0};
	int code = store_reader_open_file(&reader, path, err);
	if (code >= 0)
		code = read_all(s, &reader, names, err);
	store_reader_close(&reader);
	s->path = code >= 0 ? strdup(path) : NULL;
	if (code >= 0 && !s->path)
		code = log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	if (code < 0)
		live_store_free(s);
	return code;
}

void live_store_free(struct live_store *s)
{
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		log_free(s->records[slot]);
	free(s->path);
	*s = (struct live_store){0};
}

double live_store_epoch(const struct live_store *s)
{
	return (double)s->process.started * 1e-9 - s->process.start;
}
