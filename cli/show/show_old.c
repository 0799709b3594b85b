/* Logs of Darshan 1.x and 2.x as the parser of that time printed them: counters by their old names, one table of files. */
#include <stdlib.h>

#include "show.h"

/* A file, all ranks together. */
struct old_file {
	uint64_t id;
	char suffix[17];
	struct cp_record sum; /* the counters of the file list */
	bool shared, mpi;
	int64_t ranks;
	double slowest; /* s, of one rank */
	double time;    /* s, all ranks */
};

struct old_sums {
	struct show *show;
	struct index ids, ranks;
	struct old_file *files;
	struct rank_sum *rank;
	struct reduce_total total;
	struct cp_record record, scratch;
	bool size_unknown; /* of a file when it was opened */
	int64_t bytes;
	double cumulated, cumulated_meta, by_open, by_last, by_slowest; /* s, shared files */
};

static bool is_mpi(const struct cp_record *r)
{
	return r->indep_opens > 0 || r->coll_opens > 0;
}

static double meta_time(const struct cp_record *r)
{
	return is_mpi(r) ? r->mpi_meta_time : r->posix_meta_time;
}

static double io_time(const struct cp_record *r)
{
	return is_mpi(r) ? r->mpi_meta_time + r->mpi_read_time + r->mpi_write_time
			 : r->posix_meta_time + r->posix_read_time + r->posix_write_time;
}

static double span(double from, double to)
{
	return to > from ? to - from : 0;
}

static double last_access(const struct cp_record *r)
{
	return r->read_end_timestamp > r->write_end_timestamp ? r->read_end_timestamp : r->write_end_timestamp;
}

static int64_t largest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void add_shared(struct old_sums *u, const struct cp_record *r)
{
	double nprocs = u->show->job->nprocs > 0 ? (double)u->show->job->nprocs : 1;
	u->cumulated += io_time(r) / nprocs;
	u->cumulated_meta += meta_time(r) / nprocs;
	u->by_open += span(r->open_timestamp, r->close_timestamp);
	u->by_last += span(r->open_timestamp, last_access(r));
	u->by_slowest += r->slowest_rank_time;
}

static bool add_to_rank(struct old_sums *u, const struct cp_record *r)
{
	bool is_new;
	size_t i = index_number(&u->ranks, (uint64_t)r->rank, &is_new);
	if (i == SIZE_MAX || (is_new && !index_grow(&u->rank, i, sizeof *u->rank)))
		return false;
	if (is_new)
		u->rank[i] = (struct rank_sum){.rank = r->rank};
	u->rank[i].io += io_time(r);
	u->rank[i].meta += meta_time(r);
	return true;
}

static void add_to_file(struct old_file *f, const struct cp_record *r)
{
	struct reduce_state a = {0}, b = {0};
	bool shared = r->rank == -1;
	if (f->ranks++)
		reduce_merge(&schema_cp, &f->sum, &a, r, &b);
	else
		f->sum = *r;
	double longest = !shared                    ? io_time(r)
			 : r->slowest_rank_time > 0 ? r->slowest_rank_time
						    : span(r->open_timestamp, last_access(r));
	f->shared |= shared;
	f->mpi |= is_mpi(r);
	f->slowest = longest > f->slowest ? longest : f->slowest;
	f->time += io_time(r);
}

static bool add_record(struct old_sums *u, const struct cp_record *r)
{
	bool is_new;
	reduce_total_add(&schema_cp, &u->total, &u->record, r, &u->scratch);
	u->bytes = (int64_t)((uint64_t)u->bytes + (uint64_t)r->bytes_read + (uint64_t)r->bytes_written);
	u->size_unknown |= r->size_at_open == -1;
	if (r->rank == -1)
		add_shared(u, r);
	else if (!add_to_rank(u, r))
		return false;
	size_t i = index_number(&u->ids, r->id, &is_new);
	if (i == SIZE_MAX || (is_new && !index_grow(&u->files, i, sizeof *u->files)))
		return false;
	if (is_new) {
		u->files[i] = (struct old_file){.id = r->id};
		memcpy(u->files[i].suffix, r->name_suffix, sizeof r->name_suffix);
	}
	add_to_file(&u->files[i], r);
	return true;
}

/* ---- lines ---- */

static void put_number(struct output *o, const struct schema_field *f, const void *record, int element)
{
	char text[OUTPUT_NUMBER];
	char *end = show_value(text, f->type, (const uint8_t *)record + f->offset + 8 * element);
	output_bytes(o, text, (size_t)(end - text));
}

static void put_suffix(struct output *o, const char *suffix, size_t n)
{
	char text[17] = {0};
	memcpy(text, suffix, n < 16 ? n : 16);
	put_escaped(o, text);
}

static void show_counters(struct show *s, const struct cp_record *r)
{
	const struct log_old_mount *m = log_old_mount_of(s->log, r);
	struct output *o = &s->out;
	for (uint32_t i = 0; i < schema_cp.nfields; i++) {
		const struct schema_field *f = &schema_cp.fields[i];
		for (int k = 0; k < f->nlabels; k++) {
			output_format(o, "%lld\t%llu\t%s\t", (long long)r->rank, (unsigned long long)r->id,
				      f->labels[k].darshan);
			put_number(o, f, r, k);
			output_text(o, "\t...");
			put_suffix(o, r->name_suffix, sizeof r->name_suffix);
			output_text(o, "\t");
			put_escaped(o, m ? m->mount.key : "UNKNOWN");
			output_text(o, "\t");
			put_escaped(o, m ? m->mount.value : "UNKNOWN");
			output_text(o, "\n");
		}
	}
}

static void show_totals(const struct old_sums *u)
{
	const struct cp_record nothing = {.size_at_open = u->size_unknown ? -1 : 0};
	struct output *o = &u->show->out;
	output_text(o, "\n");
	for (uint32_t i = 0; i < schema_cp.nfields; i++) {
		const struct schema_field *f = &schema_cp.fields[i];
		for (int k = 0; k < f->nlabels; k++) {
			output_format(o, "total_%s: ", f->labels[k].darshan);
			put_number(o, f, f->reduce == REDUCE_ANY ? &nothing : &u->record, k);
			output_text(o, "\n");
		}
	}
}

static struct rank_sum slowest_rank(const struct old_sums *u)
{
	struct rank_sum slowest = {0};
	for (size_t i = 0; i < u->ranks.used; i++)
		if (u->rank[i].io > slowest.io)
			slowest = u->rank[i];
	return slowest;
}

static double speed(const struct old_sums *u, double shared_time, double unique_time)
{
	double time = shared_time + unique_time;
	return shared_time + unique_time > 0 ? (double)u->bytes / 1048576 / time : 0;
}

static void show_performance(const struct old_sums *u)
{
	static const char dots[] = "# ...........................\n";
	struct rank_sum k = slowest_rank(u);
	struct output *o = &u->show->out;
	output_text(o, "\n# performance\n# -----------\n");
	output_format(o, "# total_bytes: %lld\n#\n# I/O timing for unique files (seconds):\n%s", (long long)u->bytes,
		      dots);
	output_format(o, "# unique files: slowest_rank_io_time: %f\n", k.io);
	output_format(o, "# unique files: slowest_rank_meta_time: %f\n", k.meta);
	output_format(o, "# unique files: slowest rank: %lld\n#\n", (long long)k.rank);
	output_format(o, "# I/O timing for shared files (seconds):\n%s", dots);
	output_format(o, "# shared files: time_by_cumul_io_only: %f\n", u->cumulated);
	output_format(o, "# shared files: time_by_cumul_meta_only: %f\n", u->cumulated_meta);
	output_format(o, "# shared files: time_by_open: %f\n", u->by_open);
	output_format(o, "# shared files: time_by_open_lastio: %f\n", u->by_last);
	output_format(o, "# shared files: time_by_slowest: %f\n#\n", u->by_slowest);
	output_format(o, "# Aggregate performance, including both shared and unique files (MiB/s):\n%s", dots);
	output_format(o, "# agg_perf_by_cumul: %f\n", speed(u, u->cumulated, k.io));
	output_format(o, "# agg_perf_by_open: %f\n", speed(u, u->by_open, k.io));
	output_format(o, "# agg_perf_by_open_lastio: %f\n", speed(u, u->by_last, k.io));
	output_format(o, "# agg_perf_by_slowest: %f\n", speed(u, u->by_slowest, k.io));
}

/* ---- files ---- */

enum { READS = 1, WRITES = 2 };

static int uses(const struct old_file *f)
{
	const struct cp_record *r = &f->sum;
	return (r->bytes_read > 0 ? READS : 0) | (r->bytes_written > 0 ? WRITES : 0);
}

static int64_t file_size(const struct old_file *f)
{
	return largest(largest(f->sum.max_byte_read, f->sum.max_byte_written), 0);
}

static bool is_shared(const struct old_file *f)
{
	return f->shared || f->ranks > 1;
}

static void show_category(const struct old_sums *u, const char *name, int use, int shared)
{
	int64_t files = 0, bytes = 0, largest_file = 0;
	for (size_t i = 0; i < u->ids.used; i++) {
		const struct old_file *f = &u->files[i];
		if ((use && uses(f) != use) || (shared >= 0 && is_shared(f) != shared))
			continue;
		files++;
		bytes = (int64_t)((uint64_t)bytes + (uint64_t)file_size(f));
		largest_file = largest(largest_file, file_size(f));
	}
	output_format(&u->show->out, "# %s: %lld %lld %lld\n", name, (long long)files, (long long)bytes,
		      (long long)largest_file);
}

static void show_files(const struct old_sums *u)
{
	output_text(&u->show->out, "\n# files\n# -----\n");
	show_category(u, "total", 0, -1);
	show_category(u, "read_only", READS, -1);
	show_category(u, "write_only", WRITES, -1);
	show_category(u, "read_write", READS | WRITES, -1);
	show_category(u, "unique", 0, 0);
	show_category(u, "shared", 0, 1);
}

static void show_file(const struct old_sums *u, const struct old_file *f, bool detailed)
{
	const struct cp_record *r = &f->sum;
	struct output *o = &u->show->out;
	int64_t ranks = f->shared ? u->show->job->nprocs : f->ranks;
	output_format(o, "%llu\t", (unsigned long long)f->id);
	put_suffix(o, f->suffix, sizeof f->suffix - 1);
	output_format(o, "\t%s\t%lld\t%f\t%f", f->mpi ? "MPI" : "POSIX", (long long)ranks, f->slowest,
		      ranks > 0 ? f->time / (double)ranks : 0);
	if (detailed) {
		output_format(o, "\t%f\t%f\t%f\t%f\t%f\t%f", r->open_timestamp, r->read_start_timestamp,
			      r->write_start_timestamp, r->close_timestamp, r->read_end_timestamp,
			      r->write_end_timestamp);
		output_format(o, "\t%lld\t%lld\t%lld", (long long)r->indep_opens, (long long)r->coll_opens,
			      (long long)r->posix_opens);
		for (int i = 0; i < 10; i++)
			output_format(o, "\t%lld", (long long)r->size_read[i]);
		for (int i = 0; i < 10; i++)
			output_format(o, "\t%lld", (long long)r->size_write[i]);
	}
	output_text(o, "\n");
}

static void show_file_list(const struct old_sums *u, bool detailed)
{
	struct output *o = &u->show->out;
	output_format(o, "\n# Per-file summary of I/O activity%s.\n", detailed ? " (detailed)" : "");
	output_text(o, "# <slowest>: seconds of the rank that took longest; <avg>: mean over the ranks\n\n");
	output_text(o, "# <hash>\t<suffix>\t<type>\t<nprocs>\t<slowest>\t<avg>");
	if (detailed) {
		output_text(o, "\t<start_open>\t<start_read>\t<start_write>\t<end_open>\t<end_read>\t<end_write>"
			       "\t<mpi_indep_opens>\t<mpi_coll_opens>\t<posix_opens>");
		for (int i = 0; i < 20; i++)
			output_format(o, "\tCP_SIZE_%s_%s", i < 10 ? "READ" : "WRITE", schema_size_names[i % 10]);
	}
	output_text(o, "\n");
	for (size_t i = 0; i < u->ids.used; i++)
		show_file(u, &u->files[i], detailed);
}

/* ---- the log ---- */

static void show_old_mounts(struct show *s)
{
	size_t n;
	const struct log_old_mount *m = log_old_mounts(s->log, &n);
	output_text(&s->out, "\n# mounted file systems (device, mount point, and fs type)\n"
			     "# -------------------------------------------------------\n");
	for (size_t i = 0; i < n; i++) {
		output_format(&s->out, "# mount entry: %lld\t", (long long)m[i].device);
		put_escaped(&s->out, m[i].mount.key);
		output_text(&s->out, "\t");
		put_escaped(&s->out, m[i].mount.value);
		output_text(&s->out, "\n");
	}
}

static void read_records(struct old_sums *u)
{
	struct show *s = u->show;
	struct log_records *records;
	struct log_record one;
	struct log_error err;
	int code = log_old_records_open(&records, s->log, &err);
	while (code >= 0 && !s->out.error && (code = log_records_next(records, &one, &err)) > 0) {
		if (!show_wants(s, &one))
			continue;
		if (s->parts & SHOW_BASE)
			show_counters(s, one.data);
		if (s->parts & SHOW_SUMS && !add_record(u, one.data)) {
			log_fail(&err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
			code = LOG_E_MEMORY;
		}
	}
	if (code < 0)
		show_error(s, "records", &err);
	log_records_close(records);
}

void show_old(struct show *s)
{
	struct old_sums u = {.show = s};
	enum { EVERYTHING = SHOW_BASE | SHOW_TOTAL | SHOW_FILE | SHOW_PERF | SHOW_INCOMPLETE };
	if ((s->parts & EVERYTHING) == EVERYTHING)
		s->parts |= SHOW_FILE_LIST | SHOW_FILE_DETAIL; /* the old parser's --all had it */
	show_job_of_old(s);
	show_old_mounts(s);
	if (s->parts & SHOW_BASE)
		output_text(&s->out, "\n#<rank>\t<file>\t<counter>\t<value>\t<name suffix>\t<mount pt>\t<fs type>\n");
	read_records(&u);
	if (s->parts & SHOW_TOTAL) {
		reduce_total_end(&schema_cp, &u.total, &u.record);
		show_totals(&u);
	}
	if (s->parts & SHOW_PERF)
		show_performance(&u);
	if (s->parts & SHOW_FILE)
		show_files(&u);
	if (s->parts & (SHOW_FILE_LIST | SHOW_FILE_DETAIL))
		show_file_list(&u, s->parts & SHOW_FILE_DETAIL);
	index_free(&u.ids);
	index_free(&u.ranks);
	free(u.files);
	free(u.rank);
}
