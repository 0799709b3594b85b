/* What a place makes of its stores: regions, which stay, and the rest, which goes to the first place. */
#include <string.h>

#include "joining.h"
#include "reader.h"

enum { SITES_AT_ONCE = 256 };

int joining_module(enum join_region region)
{
	if (region == JOIN_NAMES)
		return LOG_MAX_MODULES;
	if (region >= JOIN_TRACES && region < JOIN_COMMUNICATION)
		return written_traces[region - JOIN_TRACES].module;
	if (region >= JOIN_ACCESSES)
		return written_traces[region - JOIN_ACCESSES].module;
	if (region == JOIN_COMMUNICATION)
		return LOG_MOD_APMPI;
	return region == JOIN_HEATMAP ? LOG_MOD_HEATMAP : written_modules[region - JOIN_RECORDS].module;
}

uint32_t joining_version(const struct join *j, enum join_region region)
{
	if (region == JOIN_COMMUNICATION)
		return j->decision.communication.ranks ? APMPI_VERSION : 0;
	if (region >= JOIN_TRACES && region < JOIN_COMMUNICATION)
		return written_traces[region - JOIN_TRACES].version;
	return schema_modules[joining_module(region)].version;
}

/* ---- the regions ---- */

static int find_regions(struct join *j)
{
	struct log *log;
	size_t size;
	const void *memory = log_writer_data(j->memory, &size);
	int code = log_open_memory(&log, memory, size, &j->a.err);
	if (code < 0)
		return code;
	const struct log_container *c = log_container(log);
	for (int r = 0; r < JOIN_REGIONS; r++) {
		j->region[r] = r == JOIN_NAMES      ? c->names
			       : r >= JOIN_ACCESSES ? log_writer_accesses(j->memory, joining_module(r))
						    : c->module[joining_module(r)];
		j->share.sizes[r] += j->region[r].length;
	}
	j->share.partial |= log_writer_partial(j->memory);
	log_close(log);
	return 0;
}

static int write_memory(struct join *j)
{
	struct assembly *a = &j->a;
	const struct log_job_text nothing = {.nprocs = j->place.nprocs, .lib_ver = "", .exe = ""};
	int code = log_writer_memory(&j->memory, &a->err);
	if (code < 0)
		return code;
	a->writer = j->memory;
	a->reduced = j->reduced;
	a->unnamed = j->place.number ? &j->unnamed : NULL;
	log_write_job(a->writer, &nothing);
	code = assembly_write_regions(a);
	if (code >= 0)
		code = assembly_add_missing(a);
	if (code >= 0)
		code = assembly_add_targets(a);
	if (code >= 0)
		code = assembly_drop_mounts(a);
	if (code >= 0)
		code = log_writer_finish(j->memory, &a->err);
	return code < 0 ? code : find_regions(j);
}

static void keep_phases(struct join *j)
{
	for (int p = 0; p < ASSEMBLY_PHASES && j->a.phase[p].name; p++) {
		strncpy(j->share.phase[p].name, j->a.phase[p].name, sizeof j->share.phase[p].name - 1);
		j->share.phase[p].seconds = j->a.phase[p].seconds;
	}
}

static int keep_text(struct join *j)
{
	const struct join_decision *d = &j->decision;
	struct join_text t = {j->place.number, j->a.first.uid, j->a.first.id, j->job.used};
	if (d->job != t.place && d->mounts != t.place)
		return 0;
	int code = log_bytes_add(&j->texts, &t, sizeof t);
	return code < 0 ? code : log_bytes_add(&j->texts, j->job.at, j->job.used);
}

int join_make(struct join *j, const void *decision, size_t n)
{
	int code = joining_obey(j, decision, n);
	if (code >= 0)
		code = write_memory(j);
	if (code >= 0)
		code = keep_text(j);
	keep_phases(j);
	if (code < 0) {
		joining_fail(j, code, "not enough memory");
		join_fail(j, j->a.err.message);
	}
	return code;
}

const void *join_region(const struct join *j, enum join_region region, size_t *size)
{
	size_t all;
	const uint8_t *memory = j->memory ? log_writer_data(j->memory, &all) : NULL;
	*size = j->region[region].length;
	return memory + j->region[region].offset;
}

const uint64_t *join_sizes(const struct join *j)
{
	return j->share.sizes;
}

/* ---- telling ---- */

/* Which values a record's tables do not show, by table: how many, then they. */
static int write_common(const struct reduce_state *s, struct log_bytes *out)
{
	int code = 0;
	for (int k = 0; code >= 0 && k < REDUCE_COMMON; k++) {
		const struct common *c = s->common[k];
		uint64_t n = c ? c->used : 0;
		code = log_bytes_add(out, &n, sizeof n);
		for (size_t at = 0; c && code >= 0 && at < c->size; at++)
			if (c->slot[at].value)
				code = log_bytes_add(out, &c->slot[at], sizeof c->slot[at]);
	}
	return code;
}

static int write_arrays(const struct log_bytes *arrays, struct log_bytes *out)
{
	uint64_t n = arrays->used;
	int code = log_bytes_add(out, &n, sizeof n);
	return code < 0 ? code : log_bytes_add(out, arrays->at, n);
}

static int write_records(const struct join *j, struct log_bytes *out)
{
	int code = 0;
	for (int part = PRECOMPRESSED_RECORDS; part < JOIN_MODULES; part++) {
		const struct shared *s = &j->reduced[part];
		for (size_t n = 0; code >= 0 && n < s->used; n++) {
			const struct reduce_state *state = &s->entries[n].state;
			code = log_bytes_add(out, &state->time, sizeof state->time);
			if (code >= 0)
				code = log_bytes_add(out, &state->bytes, sizeof state->bytes);
			if (code >= 0)
				code = log_bytes_add(out, shared_record(s, n), s->module->size);
			if (code >= 0)
				code = write_common(state, out);
			if (code >= 0)
				code = write_arrays(&s->entries[n].arrays, out);
		}
	}
	return code;
}

static int write_encoded(const struct encoded_table *t, struct log_bytes *out)
{
	int code = log_bytes_add(out, t->parts.at, t->parts.used);
	return code < 0 ? code : log_bytes_add(out, t->stored.at, t->stored.used);
}

static int write_sections(const struct join *j, struct log_bytes *out)
{
	int code = 0;
	for (int k = 0; code >= 0 && k < ASSEMBLY_SECTIONS; k++) {
		const struct trailer_section *s = &j->a.section[k];
		if (k < ASSEMBLY_OF_RANKS)
			code = write_encoded(&j->a.encoded[k], out);
		if (code >= 0)
			code = log_bytes_add(out, s->rows.at, s->rows.used);
		if (code >= 0)
			code = log_bytes_add(out, s->heap.at, s->heap.used);
	}
	return code;
}

/* A table is sent in parts, or as rows. */
static int encode_tables(struct join *j)
{
	size_t enough = j->place.part ? j->place.part : JOIN_PART, rows = 0;
	int code = 0;
	for (int k = 0; k < ASSEMBLY_OF_RANKS; k++)
		rows += j->a.section[k].rows.used;
	for (int k = 0; code >= 0 && k < ASSEMBLY_OF_RANKS; k++)
		if (j->a.section[k].nrows && (rows >= enough || j->a.encoded[k].parts.used))
			code = encoded_table_take(&j->a.encoded[k], &j->a.section[k]);
	return code;
}

int join_share(struct join *j, struct log_bytes *out)
{
	struct join_share *s = &j->share;
	int code = joining_begin(out, "share", sizeof *s);
	if (code >= 0)
		code = encode_tables(j);
	if (code >= 0)
		code = assembly_unite_sites(&j->a, 0);
	if (code < 0)
		return joining_fail(j, code, "not enough memory");
	memcpy(&s->head, out->at, sizeof s->head);
	s->texts = j->texts.used;
	for (int k = 0; k < ASSEMBLY_SECTIONS; k++) {
		s->section[k].rows = j->a.section[k].nrows;
		s->section[k].row_bytes = j->a.section[k].rows.used;
		s->section[k].heap = j->a.section[k].heap.used;
	}
	for (int k = 0; k < ASSEMBLY_OF_RANKS; k++) {
		s->encoded[k].parts = j->a.encoded[k].parts.used;
		s->encoded[k].stored = j->a.encoded[k].stored.used;
	}
	memcpy(out->at, s, sizeof *s);
	if (!s->failed) {
		code = write_records(j, out);
		if (code >= 0)
			code = log_bytes_add(out, j->texts.at, j->texts.used);
		if (code >= 0)
			code = write_sections(j, out);
	}
	joining_end(out);
	return code < 0 ? joining_fail(j, code, "not enough memory") : 0;
}

/* ---- receiving ---- */

struct cursor {
	const uint8_t *at;
	size_t left;
};

/* NULL when there is not so much. */
static const uint8_t *take(struct cursor *c, uint64_t n)
{
	const uint8_t *at = c->at;
	if (n > c->left)
		return NULL;
	c->at += n;
	c->left -= n;
	return at;
}

static int read_common(struct reduce_state *s, struct cursor *c)
{
	int code = 0;
	for (int k = 0; code >= 0 && k < REDUCE_COMMON; k++) {
		uint64_t n;
		struct common_value v;
		const uint8_t *from = take(c, sizeof n);
		if (!from)
			return LOG_E_DAMAGED;
		memcpy(&n, from, sizeof n);
		s->common[k] = n ? common_make(REDUCE_MOST_OF_RANKS) : NULL;
		code = n && !s->common[k] ? LOG_E_MEMORY : 0;
		for (; n && code >= 0; n--) {
			from = take(c, sizeof v);
			if (!from)
				return LOG_E_DAMAGED;
			memcpy(&v, from, sizeof v);
			code = common_add(s->common[k], v.value, v.count);
		}
	}
	return code;
}

static int add_arrays(struct shared *s, struct shared_entry *e, const void *record, struct cursor *c)
{
	uint64_t n;
	const uint8_t *from = take(c, sizeof n);
	if (!from)
		return LOG_E_DAMAGED;
	memcpy(&n, from, sizeof n);
	from = take(c, n);
	return from ? shared_add_arrays(s, e, record, from, n) : LOG_E_DAMAGED;
}

static int add_record(struct shared *s, struct cursor *c)
{
	uint8_t record[4096] __attribute__((aligned(8)));
	struct reduce_state state = {0};
	uint64_t id;
	const size_t moments = sizeof state.time + sizeof state.bytes;
	const uint8_t *from = take(c, moments + s->module->size);
	if (!from || s->module->size > sizeof record)
		return LOG_E_DAMAGED;
	memcpy(&state.time, from, sizeof state.time);
	memcpy(&state.bytes, from + sizeof state.time, sizeof state.bytes);
	memcpy(record, from + moments, s->module->size);
	memcpy(&id, record, sizeof id);
	struct shared_entry *e = shared_entry(s, id);
	int code = e ? read_common(&state, c) : LOG_E_DAMAGED;
	if (code >= 0)
		code = add_arrays(s, e, record, c);
	if (code >= 0 && !shared_has_arrays(s->module))
		reduce_merge(s->module, shared_record(s, (size_t)(e - s->entries)), &e->state, record, &state);
	reduce_forget(&state);
	return code;
}

static int add_records(struct join *j, struct cursor *c)
{
	int code = 0;
	for (int part = PRECOMPRESSED_RECORDS; part < JOIN_MODULES; part++)
		for (size_t n = 0; code >= 0 && n < j->reduced[part].used; n++)
			code = add_record(&j->reduced[part], c);
	return code;
}

/* What is here already stands before it. */
static int add_encoded(struct join *j, int k, const struct join_share *s, struct cursor *c)
{
	uint64_t size = s->encoded[k].parts, stored = s->encoded[k].stored;
	const uint8_t *parts = take(c, size), *bytes = take(c, stored);
	if (!parts || !bytes)
		return LOG_E_DAMAGED;
	int code = size && j->a.section[k].nrows ? encoded_table_take(&j->a.encoded[k], &j->a.section[k]) : 0;
	return code < 0 ? code : encoded_table_add(&j->a.encoded[k], parts, size, bytes, stored);
}

static int add_rows(struct trailer_section *mine, int k, const void *rows, uint64_t n, const char *heap, size_t size)
{
	uint64_t nrows = mine->nrows, strings = mine->heap.used;
	if (k < ASSEMBLY_OF_RANKS)
		return section_append(mine, rows, n, heap, size);
	int code = section_add_rows(mine, rows, n, heap, size);
	if (code >= 0)
		code = assembly_unite_targets(mine, k);
	if (mine->nrows == nrows) /* all of it was known: nothing refers to its strings */
		mine->heap.used = strings;
	return code;
}

static int add_sections(struct join *j, const struct join_share *s, struct cursor *c)
{
	for (int k = 0; k < ASSEMBLY_SECTIONS; k++) {
		struct trailer_section *mine = &j->a.section[k];
		int code = k < ASSEMBLY_OF_RANKS ? add_encoded(j, k, s, c) : 0;
		if (code < 0)
			return code;
		const uint8_t *rows = take(c, s->section[k].row_bytes), *heap = take(c, s->section[k].heap);
		if (!rows || !heap || (!s->section[k].rows && s->section[k].row_bytes))
			return LOG_E_DAMAGED;
		if (!s->section[k].rows)
			continue;
		code = section_need_fields(mine);
		if (code < 0 || s->section[k].rows != s->section[k].row_bytes / mine->row_size)
			return code < 0 ? code : LOG_E_DAMAGED;
		code = add_rows(mine, k, rows, s->section[k].rows, (const char *)heap, s->section[k].heap);
		if (code < 0)
			return code;
	}
	int code = assembly_unite_sites(&j->a, SITES_AT_ONCE);
	return code < 0 || !c->left ? code : LOG_E_DAMAGED;
}

/* Phases come in the same order everywhere; what one place has not, another may have. */
static void add_phases(struct join *j, const struct join_share *s)
{
	for (int p = 0; p < ASSEMBLY_PHASES && s->phase[p].name[0]; p++) {
		struct join_phase *mine = j->share.phase, *end = mine + ASSEMBLY_PHASES;
		while (mine < end && mine->name[0] && strncmp(mine->name, s->phase[p].name, sizeof mine->name) != 0)
			mine++;
		if (mine == end)
			continue;
		if (!mine->name[0])
			*mine = s->phase[p];
		else if (s->phase[p].seconds > mine->seconds)
			mine->seconds = s->phase[p].seconds;
	}
}

static int add_share(struct join *j, const struct join_share *s, struct cursor *c)
{
	int code = add_records(j, c);
	const uint8_t *texts = code < 0 ? NULL : take(c, s->texts);
	if (!texts)
		return code < 0 ? code : LOG_E_DAMAGED;
	code = log_bytes_add(&j->texts, texts, s->texts);
	if (code >= 0)
		code = add_sections(j, s, c);
	for (int r = 0; r < JOIN_REGIONS; r++)
		j->share.sizes[r] += s->sizes[r];
	j->share.partial |= s->partial;
	add_phases(j, s);
	return code;
}

int join_share_add(struct join *j, const void *share, size_t n)
{
	struct join_share s;
	if (!joining_is(share, n, "share", sizeof s))
		return joining_fail(j, LOG_E_DAMAGED, "places of different releases");
	memcpy(&s, share, sizeof s);
	s.why[JOIN_WHY - 1] = '\0';
	if (s.failed)
		join_fail(j, s.why);
	if (j->share.failed)
		return 0;
	struct cursor c = {(const uint8_t *)share + sizeof s, n - sizeof s};
	int code = add_share(j, &s, &c);
	if (code < 0)
		joining_fail(j, code, code == LOG_E_MEMORY ? "not enough memory" : "a place's share cannot be read");
	if (code < 0)
		join_fail(j, j->a.err.message);
	return code;
}
