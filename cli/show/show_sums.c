#include <stdlib.h>

#include "show.h"

static const double MIB = 1048576;

static const struct schema_field *slowest_time(const struct schema_module *m)
{
	const struct schema_field *f = schema_by_role(m, ROLE_SLOWEST);
	while (f && f->type != FIELD_F64)
		f = schema_next(m, f);
	return f;
}

/* Of modules whose records are files; a data set or a variable is part of one. */
static bool is_derived(const struct schema_module *m)
{
	return m->layout == LAYOUT_PLAIN && !schema_by_name(m, "file_rec_id") && slowest_time(m) &&
	       schema_by_role(m, ROLE_BYTES_READ) && schema_by_role(m, ROLE_READ_TIME);
}

bool sums_open(struct sums *u, const struct schema_module *m, unsigned parts)
{
	*u = (struct sums){.module = m, .parts = is_derived(m) ? parts & SHOW_SUMS : 0};
	u->record = calloc(1, m->size);
	u->scratch = calloc(1, m->size);
	return u->record && u->scratch;
}

void sums_close(struct sums *u)
{
	free(u->record);
	free(u->scratch);
	free(u->files);
	free(u->ranks);
	reduce_forget(&u->total.state);
	for (size_t i = 0; u->merging && i < u->file_index.used; i++)
		reduce_forget(&u->merging[i]);
	free(u->merged);
	free(u->merging);
	index_free(&u->file_index);
	index_free(&u->rank_index);
}

static int64_t max_offset(const struct schema_module *m, const void *record)
{
	if (!schema_by_role(m, ROLE_MAX_OFFSET_READ))
		return -1;
	int64_t r = reduce_i64(m, record, ROLE_MAX_OFFSET_READ);
	int64_t w = reduce_i64(m, record, ROLE_MAX_OFFSET_WRITTEN);
	return r > w ? r : w;
}

/* Seconds of I/O of the process that took longest. */
static double longest(const struct schema_module *m, const struct log_record *r)
{
	double time;
	if (r->rank != -1)
		return reduce_io_time(m, r->data);
	memcpy(&time, (const uint8_t *)r->data + slowest_time(m)->offset, sizeof time);
	return time;
}

static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static bool merge_record(struct sums *u, size_t file, const struct log_record *r, bool is_new)
{
	const struct schema_module *m = u->module;
	const struct reduce_state one = {0};
	if (is_new && (!index_grow(&u->merged, file, m->size) || !index_grow(&u->merging, file, sizeof *u->merging)))
		return false;
	if (is_new) {
		memcpy(u->merged + file * m->size, r->data, m->size);
		u->merging[file] = (struct reduce_state){.most = REDUCE_MOST_OF_RANKS};
	} else {
		reduce_merge(m, u->merged + file * m->size, &u->merging[file], r->data, &one);
	}
	return true;
}

static bool add_to_file(struct sums *u, const struct log_record *r)
{
	const struct schema_module *m = u->module;
	bool is_new;
	size_t i = index_number(&u->file_index, r->id, &is_new);
	if (i == SIZE_MAX || (is_new && !index_grow(&u->files, i, sizeof *u->files)))
		return false;
	struct file_sum *f = &u->files[i];
	if (is_new)
		*f = (struct file_sum){.id = r->id, .max_offset = max_offset(m, r->data)};
	f->bytes_read = add(f->bytes_read, reduce_i64(m, r->data, ROLE_BYTES_READ));
	f->bytes_written = add(f->bytes_written, reduce_i64(m, r->data, ROLE_BYTES_WRITTEN));
	int64_t offset = max_offset(m, r->data);
	f->max_offset = offset > f->max_offset ? offset : f->max_offset;
	f->processes = r->rank == -1 || f->processes == -1 ? -1 : f->processes + 1;
	double slowest = longest(m, r);
	f->slowest = slowest > f->slowest ? slowest : f->slowest;
	f->time += reduce_io_time(m, r->data);
	return !(u->parts & SHOW_FILE_DETAIL) || merge_record(u, i, r, is_new);
}

static bool add_to_rank(struct sums *u, const struct log_record *r)
{
	const struct schema_module *m = u->module;
	bool is_new;
	u->bytes = add(u->bytes, reduce_bytes(m, r->data));
	if (r->rank == -1) {
		u->shared_time += longest(m, r);
		return true;
	}
	size_t i = index_number(&u->rank_index, (uint64_t)r->rank, &is_new);
	if (i == SIZE_MAX || (is_new && !index_grow(&u->ranks, i, sizeof *u->ranks)))
		return false;
	struct rank_sum *k = &u->ranks[i];
	if (is_new)
		*k = (struct rank_sum){.rank = r->rank};
	k->io += reduce_io_time(m, r->data);
	k->meta += reduce_f64(m, r->data, ROLE_META_TIME);
	k->data += reduce_f64(m, r->data, ROLE_READ_TIME) + reduce_f64(m, r->data, ROLE_WRITE_TIME);
	return true;
}

bool sums_add(struct sums *u, const struct log_record *r)
{
	u->used = true;
	if (u->parts & SHOW_TOTAL)
		reduce_total_add(u->module, &u->total, u->record, r->data, u->scratch);
	if (u->parts & SHOW_PERF && !add_to_rank(u, r))
		return false;
	return !(u->parts & SHOW_PER_FILE) || add_to_file(u, r);
}

void sums_end(struct sums *u)
{
	reduce_total_end(u->module, &u->total, u->record);
	for (size_t i = 0; u->merging && i < u->file_index.used; i++)
		reduce_choose(u->module, u->merged + i * u->module->size, &u->merging[i]);
}

static void put_counter(struct output *o, const struct schema_field *f, const uint8_t *at)
{
	char text[OUTPUT_NUMBER], *end;
	int64_t i;
	double d;
	memcpy(&i, at, sizeof i);
	memcpy(&d, at, sizeof d);
	if (f->type == FIELD_F64)
		end = put_fixed(text, d);
	else
		end = f->type == FIELD_I64 ? put_i64(text, i) : put_u64(text, (uint64_t)i);
	output_bytes(o, text, (size_t)(end - text));
}

static void show_total(struct show *s, const struct sums *u)
{
	output_text(&s->out, "\n");
	for (uint32_t i = 0; i < u->module->nfields; i++) {
		const struct schema_field *f = &u->module->fields[i];
		for (int k = 0; k < f->nlabels; k++) {
			output_format(&s->out, "total_%s: ", f->labels[k].darshan);
			put_counter(&s->out, f, u->record + f->offset + 8 * k);
			output_text(&s->out, "\n");
		}
	}
}

/* ---- file categories ---- */

static bool is_any(const struct file_sum *f)
{
	return f != NULL;
}

static bool is_read_only(const struct file_sum *f)
{
	return f->bytes_read > 0 && f->bytes_written == 0;
}

static bool is_write_only(const struct file_sum *f)
{
	return f->bytes_written > 0 && f->bytes_read == 0;
}

static bool is_read_write(const struct file_sum *f)
{
	return f->bytes_read > 0 && f->bytes_written > 0;
}

static bool is_unique(const struct file_sum *f)
{
	return f->processes == 1;
}

static bool is_shared(const struct file_sum *f)
{
	return f->processes != 1;
}

static const struct category {
	const char *name;
	bool (*holds)(const struct file_sum *f);
} categories[CATEGORIES] = {
	{"total", is_any},
	{"read_only", is_read_only},
	{"write_only", is_write_only},
	{"read_write", is_read_write},
	{"unique", is_unique},
	{"shared", is_shared},
};

struct category_sum sums_category(const struct sums *u, int category)
{
	struct category_sum sum = {.name = categories[category].name};
	bool measured = schema_by_role(u->module, ROLE_MAX_OFFSET_READ);
	for (size_t i = 0; i < u->file_index.used; i++) {
		const struct file_sum *f = &u->files[i];
		if (!categories[category].holds(f))
			continue;
		sum.files++;
		sum.bytes = add(sum.bytes, add(f->bytes_read, f->bytes_written));
		sum.max_offset = f->max_offset > sum.max_offset ? f->max_offset : sum.max_offset;
	}
	if (sum.files && !measured)
		sum.max_offset = -1;
	return sum;
}

static void show_files(struct show *s, const struct sums *u)
{
	output_text(&s->out, "\n# Total file counts\n# -----\n");
	output_text(&s->out, "# <file_type>: kind of files, by bytes moved and by the processes that used them\n");
	output_text(&s->out, "# <file_count>: number of files\n# <total_bytes>: bytes read and written\n");
	output_text(&s->out, "# <max_byte_offset>: highest offset accessed; -1 where it is not known\n");
	output_text(&s->out, "\n# <file_type> <file_count> <total_bytes> <max_byte_offset>\n");
	for (int i = 0; i < CATEGORIES; i++) {
		struct category_sum sum = sums_category(u, i);
		output_format(&s->out, "# %s: %lld %lld %lld\n", sum.name, (long long)sum.files, (long long)sum.bytes,
			      (long long)sum.max_offset);
	}
}

/* ---- performance ---- */

static struct rank_sum slowest_rank(const struct sums *u)
{
	struct rank_sum slowest = {0};
	for (size_t i = 0; i < u->rank_index.used; i++) {
		const struct rank_sum *k = &u->ranks[i];
		if (k->io > slowest.io || (k->io == slowest.io && k->rank < slowest.rank))
			slowest = *k;
	}
	return slowest;
}

struct performance sums_performance(const struct sums *u)
{
	struct performance p = {.slowest = slowest_rank(u)};
	p.time = p.slowest.io + u->shared_time;
	p.speed = p.time > 0 ? (double)u->bytes / MIB / p.time : 0;
	return p;
}

static void show_performance(struct show *s, const struct sums *u)
{
	static const char dots[] = "# ...........................\n";
	struct performance p = sums_performance(u);
	struct rank_sum k = p.slowest;
	struct output *o = &s->out;
	output_text(o, "\n# performance\n# -----------\n");
	output_format(o, "# total_bytes: %lld\n#\n# I/O timing for unique files (seconds):\n%s", (long long)u->bytes,
		      dots);
	output_format(o, "# unique files: slowest_rank_io_time: %f\n", k.io);
	output_format(o, "# unique files: slowest_rank_meta_only_time: %f\n", k.meta);
	output_format(o, "# unique files: slowest_rank_rw_only_time: %f\n", k.data);
	output_format(o, "# unique files: slowest_rank: %lld\n#\n", (long long)k.rank);
	output_format(o, "# I/O timing for shared files (seconds):\n%s", dots);
	output_format(o, "# shared files: time_by_slowest: %f\n#\n", u->shared_time);
	output_format(o, "# Aggregate performance, including both shared and unique files:\n%s", dots);
	output_format(o, "# agg_time_by_slowest: %f # seconds\n", p.time);
	output_format(o, "# agg_perf_by_slowest: %f # MiB/s\n", p.speed);
}

/* ---- file list ---- */

static bool is_detail(const struct schema_field *f)
{
	return f->nlabels && (strstr(f->name, "_timestamp") || f->role == ROLE_OPENS ||
			      f->role == ROLE_SIZE_HIST_READ || f->role == ROLE_SIZE_HIST_WRITE);
}

/* Times of day first, then the rest; fields = the record, NULL = the heading. */
static void show_details(struct show *s, const struct schema_module *m, const uint8_t *record)
{
	for (int times = 1; times >= 0; times--) {
		for (uint32_t i = 0; i < m->nfields; i++) {
			const struct schema_field *f = &m->fields[i];
			if (!is_detail(f) || (f->type == FIELD_F64) != times)
				continue;
			for (int k = 0; k < f->nlabels; k++) {
				output_text(&s->out, "\t");
				if (record)
					put_counter(&s->out, f, record + f->offset + 8 * k);
				else
					output_format(&s->out, "<%s>", f->labels[k].name);
			}
		}
	}
}

static void show_file(struct show *s, const struct sums *u, size_t i)
{
	const struct file_sum *f = &u->files[i];
	const char *name = log_name(s->log, f->id);
	int64_t all = s->job ? s->job->nprocs : 1;
	int64_t processes = f->processes == -1 ? all : f->processes;
	output_format(&s->out, "%llu\t", (unsigned long long)f->id);
	put_escaped(&s->out, name ? name : "(null)");
	output_format(&s->out, "\t%lld\t%f\t%f", (long long)processes, f->slowest,
		      processes > 0 ? f->time / (double)processes : 0.0);
	if (u->parts & SHOW_FILE_DETAIL)
		show_details(s, u->module, u->merged + i * u->module->size);
	output_text(&s->out, "\n");
}

static void show_file_list(struct show *s, const struct sums *u)
{
	output_text(&s->out, "\n# Per-file summary of I/O activity.\n");
	output_text(&s->out, "# <slowest>: seconds of the process that took longest; <avg>: mean over the processes\n");
	output_text(&s->out, "\n# <record_id>\t<file_name>\t<nprocs>\t<slowest>\t<avg>");
	if (u->parts & SHOW_FILE_DETAIL)
		show_details(s, u->module, NULL);
	output_text(&s->out, "\n");
	for (size_t i = 0; i < u->file_index.used; i++)
		show_file(s, u, i);
}

void show_sums(struct show *s, const struct sums *u)
{
	static const struct {
		unsigned parts;
		void (*show)(struct show *s, const struct sums *u);
	} blocks[] = {
		{SHOW_TOTAL, show_total},
		{SHOW_FILE, show_files},
		{SHOW_PERF, show_performance},
		{SHOW_FILE_LIST | SHOW_FILE_DETAIL, show_file_list},
	};
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		if (u->used && u->parts & blocks[i].parts)
			blocks[i].show(s, u);
}
