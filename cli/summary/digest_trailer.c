/* The part of a digest that Darshan's own records do not tell. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "trailer.h"
#include "unrecorded.h"

#define I64(name) trailer_i64(t, row, trailer_field(t, name), 0)
#define F64(name) trailer_f64(t, row, trailer_field(t, name), 0)

/* ---- processes ---- */

/* An image of a process: what it was before or after an exec is another one. */
struct image_of {
	int64_t rank, pid, parent;
	int64_t storage_read;
	struct used_faults faults;
	double start, end;
	bool became; /* something else, by exec */
	bool beyond; /* it ended itself, and the library did not see it: its calls may not go through libc */
	bool mpi;
	struct interval_union io;
};

static int by_process(const void *x, const void *y)
{
	const struct image_of *a = x, *b = y;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static bool has_row(const struct trailer_table *t, int64_t rank)
{
	for (uint64_t row = 0; t && row < trailer_rows(t); row++)
		if (I64("rank") == rank)
			return true;
	return false;
}

/* Images that became a program which left no store, and did not say so themselves. */
static int64_t count_lost(struct image_of *images, size_t n, const struct trailer_table *said)
{
	int64_t lost = 0;
	qsort(images, n, sizeof *images, by_process);
	for (size_t i = 0; i < n; i++) {
		bool followed = i + 1 < n && images[i + 1].pid == images[i].pid;
		lost += images[i].became && !followed && !has_row(said, images[i].rank);
	}
	return lost;
}

/* Images are sorted by process. */
static bool command_is_lost(const struct image_of *images, size_t n)
{
	const struct image_of *first = NULL, *last = NULL;
	for (size_t i = 0; i < n; i++) {
		if (images[i].mpi)
			return false;
		if (images[i].pid && images[i].rank >= 0 && (!first || images[i].rank < first->rank))
			first = &images[i];
	}
	for (size_t i = 0; i < n; i++)
		last = first && images[i].pid == first->pid ? &images[i] : last;
	return last && (last->became || last->beyond);
}

/* The first image of a process; images are sorted by process. NULL: there is none. */
static struct image_of *find_process(struct image_of *images, size_t n, int64_t pid)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (images[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && images[low].pid == pid ? &images[low] : NULL;
}

/* A program is loaded before iolens runs in it: the first one since the job's start, others since the image before ended. */
static void extend_faults(struct image_of *images, size_t n)
{
	struct used_faults *first = NULL;
	for (size_t i = 0; i < n; i++) {
		struct used_faults *f = &images[i].faults;
		if (!f->known)
			continue;
		const struct image_of *before = i ? &images[i - 1] : NULL;
		if (before && before->pid == images[i].pid && before->became && before->faults.known)
			f->start = before->faults.end;
		first = first && first->start <= f->start ? first : f;
	}
	if (first && first->start > 0)
		first->start = 0;
}

static int by_first_wait(const void *x, const void *y)
{
	double a = ((const struct image_of *)x)->faults.start, b = ((const struct image_of *)y)->faults.start;
	return a < b ? -1 : a > b;
}

/* The kernel adds what children read to their parent: that is none of its own page faults. */
static void read_faults(struct digest *d, struct image_of *images, size_t n)
{
	d->storage_read = n ? 0 : -1;
	for (size_t i = 0; i < n; i++) {
		struct image_of *parent = find_process(images, n, images[i].parent);
		if (images[i].storage_read < 0)
			d->storage_read = -1;
		if (parent)
			parent->faults.storage -= images[i].storage_read;
		else if (d->storage_read >= 0)
			d->storage_read += images[i].storage_read;
	}
	struct used_storage storage = {0};
	extend_faults(images, n);
	for (size_t i = 0; i < n; i++)
		used_find_queue(&images[i].faults);
	for (size_t i = 0; i < n; i++)
		used_measure(&storage, &images[i].faults);
	for (size_t i = 0; i < n; i++)
		used_add_faults(&d->used, &storage, &images[i].faults);
	struct used_waits waits = {-DBL_MAX, -DBL_MAX};
	qsort(images, n, sizeof *images, by_first_wait);
	for (size_t i = 0; i < n; i++)
		used_add_waits(&d->used, &waits, &images[i].faults);
}

static void add_unobserved(struct digest *d, const struct trailer_table *t)
{
	for (uint64_t row = 0; t && row < trailer_rows(t); row++) {
		d->unobserved += I64("count");
		if (*d->unobserved_program)
			continue;
		trailer_copy_text(t, row, "program", d->unobserved_program, sizeof d->unobserved_program);
		trailer_copy_text(t, row, "reason", d->unobserved_reason, sizeof d->unobserved_reason);
	}
}

static bool ended_itself(const char *ended)
{
	static const char *const ways[] = {"exit", "quick_exit", "exec", "finalize"};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(ended, ways[i]) == 0)
			return true;
	return false;
}

/* Logs from before they were told apart: all that was unseen. */
static int64_t unexplained(const struct trailer_table *t, uint64_t row, const char *field, int64_t unseen)
{
	int64_t value = trailer_field(t, field) ? I64(field) : unseen;
	return value > 0 ? value : 0;
}

static void read_process(struct digest *d, const struct trailer_table *t, uint64_t row, struct image_of *image)
{
	char ended[24], mpi[24];
	int64_t read = I64("unseen_read"), written = I64("unseen_written");
	trailer_copy_text(t, row, "ended", ended, sizeof ended);
	if (strcmp(ended, "missing") == 0) {
		d->missing++;
		return;
	}
	d->processes++;
	d->unfinished += !ended_itself(ended);
	d->folded_opens += I64("folded_opens");
	d->unseen_unknown += read < 0;
	d->unseen_read += read > 0 ? read : 0;
	d->unseen_written += written > 0 ? written : 0;
	d->unexplained_read += unexplained(t, row, "unexplained_read", read);
	d->unexplained_written += unexplained(t, row, "unexplained_written", written);
	trailer_copy_text(t, row, "mpi", mpi, sizeof mpi);
	struct used_faults faults;
	used_add(&d->used, t, row, &faults);
	*image = (struct image_of){
		.rank = I64("rank"),
		.pid = I64("pid"),
		.parent = I64("parent"),
		.faults = faults,
		.storage_read = trailer_field(t, "storage_read") ? I64("storage_read") : -1,
		.start = F64("start"),
		.end = F64("end"),
		.became = strcmp(ended, "exec") == 0,
		.beyond = strcmp(ended, "exit") == 0 && !faults.known,
		.mpi = *mpi,
		.io = {F64("io_time"), {F64("read_time"), F64("write_time"), F64("meta_time")}},
	};
}

static int by_rank(const void *x, const void *y)
{
	const struct image_of *a = x, *b = y;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* The time in I/O of the MPI rank that is longest in it, which the others wait for; without MPI of the longest process. */
static void find_longest_rank(struct digest *d, struct image_of *images, size_t n)
{
	struct image_of all = {0}, longest = {0};
	qsort(images, n, sizeof *images, by_rank);
	for (size_t i = 0; i < n; i++) {
		all.io.total += images[i].faults.known ? images[i].io.total : 0;
		all.faults.in_io += images[i].faults.in_io;
	}
	for (size_t i = 0; i < n;) {
		struct image_of rank = images[i];
		while (++i < n && images[i].rank == rank.rank) {
			rank.mpi = rank.mpi || images[i].mpi;
			rank.io.total += images[i].io.total;
			rank.faults.in_io += images[i].faults.in_io;
			for (int k = 0; k < IO_OPS; k++)
				rank.io.by_op[k] += images[i].io.by_op[k];
		}
		if (rank.mpi == d->mpi ? rank.io.total > d->io.total : rank.mpi) {
			d->io = rank.io;
			longest = rank;
		}
		d->mpi = d->mpi || rank.mpi;
	}
	const struct image_of *counts = d->mpi ? &longest : &all;
	d->queued_part = counts->io.total > 0 ? counts->faults.in_io / counts->io.total : 0;
}

static int by_start(const void *x, const void *y)
{
	const struct image_of *a = x, *b = y;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* The time during which one of the processes with datasets ran, as a part of their run times. Images by rank; they are lost. */
static void find_together(struct digest_hdf5 *h, struct image_of *images, size_t n)
{
	double together = 0, sum = 0, until = 0;
	size_t lives = 0;
	for (size_t i = 0; i < n; i++) {
		const struct image_of one = images[i];
		if (one.rank < 0 || one.end <= one.start || !id_set_has(&h->ranks, (uint64_t)one.rank + 1))
			continue;
		struct image_of *last = lives ? &images[lives - 1] : NULL;
		if (!last || last->rank != one.rank) {
			images[lives++] = one;
			continue;
		}
		last->start = one.start < last->start ? one.start : last->start;
		last->end = one.end > last->end ? one.end : last->end;
	}
	if (lives)
		qsort(images, lives, sizeof *images, by_start);
	for (size_t i = 0; i < lives; i++) {
		double from = i && until > images[i].start ? until : images[i].start;
		together += images[i].end > from ? images[i].end - from : 0;
		sum += images[i].end - images[i].start;
		until = i && until > images[i].end ? until : images[i].end;
	}
	h->together = sum > 0 ? together / sum : 0;
}

static void read_processes(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	struct trailer_table *said = NULL;
	struct log_error err;
	size_t n = trailer_rows(t);
	struct image_of *images = calloc(n + 1, sizeof *images);
	if (!images || trailer_find(trailer, "unobserved", &said, &err) < 0)
		said = NULL;
	for (uint64_t row = 0; images && row < n; row++)
		read_process(d, t, row, &images[row]);
	if (images)
		d->unobserved = count_lost(images, n, said);
	if (images)
		d->command_lost = command_is_lost(images, n);
	if (images)
		read_faults(d, images, n);
	if (images)
		find_longest_rank(d, images, n);
	if (images && d->hdf5.ranks.used)
		find_together(&d->hdf5, images, n);
	add_unobserved(d, said);
	trailer_free(said);
	free(images);
}

static void read_overflow(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		d->folded_files += I64("files");
		if (I64("sufficient_budget") > d->sufficient_budget)
			d->sufficient_budget = I64("sufficient_budget");
	}
}

static void read_observers(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	char observer[16];
	(void)trailer;
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		trailer_copy_text(t, row, "observer", observer, sizeof observer);
		d->by_kernel += strcmp(observer, "kernel") == 0;
		d->totals_only += strcmp(observer, "totals") == 0;
	}
}

/* ---- sums ---- */

static void read_classes(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		char name[24];
		size_t c = 0;
		trailer_copy_text(t, row, "class", name, sizeof name);
		while (c < d->nclasses && strcmp(d->class[c].name, name) != 0)
			c++;
		if (c == DIGEST_CLASSES)
			continue;
		struct digest_class *k = &d->class[c];
		if (c == d->nclasses) {
			d->nclasses++;
			strcpy(k->name, name);
			trailer_copy_text(t, row, "description", k->description, sizeof k->description);
		}
		k->opens += I64("opens");
		k->calls += I64("reads") + I64("writes");
		k->bytes_read += I64("bytes_read");
		k->bytes_written += I64("bytes_written");
	}
}

static const struct {
	const char *interface, *text;
} ways[] = {
/* clang-format off */
#define WAY(id, interface, text) {interface, text},
	DIGEST_WAYS(WAY)
	/* clang-format on */
};

const char *digest_way_key(int way)
{
	return ways[way].interface;
}

const char *digest_way_name(int way)
{
	return ways[way].text;
}

/* True when the row is of a way that has no time. */
static bool read_way(struct digest *d, const struct trailer_table *t, uint64_t row)
{
	char interface[24], name[24];
	trailer_copy_text(t, row, "interface", interface, sizeof interface);
	trailer_copy_text(t, row, "name", name, sizeof name);
	for (int w = 0; w < DIGEST_WAY_COUNT; w++) {
		if (strcmp(interface, ways[w].interface) != 0)
			continue;
		if (!strcmp(name, "processor"))
			used_add_rest(&d->used, F64("time"));
		int kind = strcmp(name, "read") == 0 || strcmp(name, "receive") == 0 ? IO_READ : IO_WRITE;
		d->way[w].calls[kind] += I64("count");
		d->way[w].bytes[kind] += I64("bytes");
		return true;
	}
	return false;
}

static void read_requests(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	d->has_requests = true;
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		char interface[24], direction[24];
		trailer_copy_text(t, row, "interface", interface, sizeof interface);
		trailer_copy_text(t, row, "direction", direction, sizeof direction);
		int kind = strcmp(direction, "read") == 0 ? IO_READ : IO_WRITE;
		for (int w = 0; w < DIGEST_WAY_COUNT; w++) {
			if (strcmp(interface, ways[w].interface) != 0)
				continue;
			d->way[w].recorded[kind] += I64("recorded");
			d->way[w].untimed[kind] += I64("untimed");
			d->way[w].estimated += I64("estimated");
			d->way[w].span[kind] += F64("span_time");
		}
	}
}

static int by_operation_time(const void *x, const void *y)
{
	const struct digest_operation *a = x, *b = y;
	return a->time < b->time ? 1 : a->time > b->time ? -1 : strcmp(a->name, b->name);
}

static void read_operations(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		char name[24];
		size_t o = 0;
		if (read_way(d, t, row))
			continue;
		trailer_copy_text(t, row, "name", name, sizeof name);
		if (strcmp(name, "clock_jump") == 0) {
			d->clock_jumps += I64("count");
			continue;
		}
		while (o < d->noperations && strcmp(d->operation[o].name, name) != 0)
			o++;
		if (o == DIGEST_OPERATIONS)
			continue;
		if (o == d->noperations)
			strcpy(d->operation[d->noperations++].name, name);
		d->operation[o].count += I64("count");
		d->operation[o].time += F64("time");
	}
	qsort(d->operation, d->noperations, sizeof *d->operation, by_operation_time);
}

static void read_environment(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	char name[24];
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		trailer_copy_text(t, row, "name", name, sizeof name);
		d->own_log |= strcmp(name, "written_by") == 0;
	}
}

static void read_timeline(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	if (d->mpi)
		return;
	size_t n = trailer_rows(t);
	if (!n)
		return;
	struct state_segment *s = malloc((n + 1) * sizeof *s);
	struct interval_edge *scratch = malloc((2 * n + 1) * sizeof *scratch);
	for (uint64_t row = 0; s && row < n; row++)
		s[row] = (struct state_segment){F64("start"), F64("end"), {F64("read"), F64("write"), F64("meta")}};
	if (s && scratch)
		d->io = interval_union_of(s, n, scratch);
	free(s);
	free(scratch);
}

/* ---- waits for data ---- */

/* What a loop does for its loader in a phase, as "next batch", where that is not within such a phase; NULL: nothing. */
static const char *of_loader(const char *phase, size_t n)
{
	static const char loader[] = "loader: ";
	for (size_t at = 0, end; at < n; at = end + 1) {
		const char *slash = memchr(phase + at, '/', n - at);
		end = slash ? (size_t)(slash - phase) : n;
		if (end - at >= sizeof loader - 1 && !memcmp(phase + at, loader, sizeof loader - 1))
			return end == n ? phase + at + sizeof loader - 1 : NULL;
	}
	return NULL;
}

static bool is_word(const char *word, const char *end, const char *is)
{
	return (size_t)(end - word) == strlen(is) && !memcmp(word, is, strlen(is));
}

/* Rows of a process follow each other. */
static void read_phases(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	struct digest_loop one = {.rank = INT64_MIN};
	(void)trailer;
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		size_t n;
		const char *phase = trailer_text(t, row, trailer_field(t, "phase"), 0, &n);
		const char *word = phase ? of_loader(phase, n) : NULL;
		if (!word || is_word(word, phase + n, "fetch") || I64("count") <= 0)
			continue;
		if (I64("rank") != one.rank)
			one = (struct digest_loop){.rank = I64("rank"), .began = F64("first"), .ended = F64("last")};
		*(is_word(word, phase + n, "checkpoint") ? &one.checkpoints : &one.wait) += F64("time");
		one.began = F64("first") < one.began ? F64("first") : one.began;
		one.ended = F64("last") > one.ended ? F64("last") : one.ended;
		if (one.wait > d->loop.wait)
			d->loop = one;
		if (one.checkpoints > 0 && (one.rank == d->writer.rank || one.checkpoints > d->writer.checkpoints))
			d->writer = one;
	}
}

/* ---- file systems ---- */

static bool lies_below(const char *name, const char *point, size_t n)
{
	n -= n && point[n - 1] == '/';
	return !strncmp(name, point, n) && (name[n] == '/' || !name[n]);
}

/* A word of the log that outlives its table; "" where there are too many. */
static const char *keep_word(struct digest *d, const char *word, size_t n)
{
	for (size_t i = 0; i < DIGEST_CLASSES && n < sizeof *d->told; i++) {
		if (!*d->told[i])
			memcpy(d->told[i], word, n);
		if (strlen(d->told[i]) == n && !memcmp(d->told[i], word, n))
			return d->told[i];
	}
	return "";
}

/* Told apart by type and source, which says more than the type alone that every log has. */
static void read_mounted(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	for (size_t f = 0; f < d->nfiles; f++) {
		struct digest_file *file = &d->files[f];
		size_t longest = 0;
		for (uint64_t row = 0; *file->name == '/' && row < trailer_rows(t); row++) {
			size_t n, length;
			const char *point = trailer_text(t, row, trailer_field(t, "point"), 0, &n);
			const char *class = trailer_text(t, row, trailer_field(t, "class"), 0, &length);
			if (!length || n <= longest || !lies_below(file->name, point, n))
				continue;
			longest = n;
			file->class = keep_word(d, class, length);
		}
	}
}

static void read_platform(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	(void)trailer;
	used_read_platform(&d->used, t);
}

static void read_sampled_times(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	(void)trailer;
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		d->sampled.calls += I64("calls");
		d->sampled.timed += I64("timed");
		d->sampled.doubtful += I64("doubtful");
		d->sampled.time += F64("time");
		d->sampled.doubtful_time += F64("doubtful_time");
	}
}

int digest_read_trailer(struct digest *d, struct log_error *err)
{
	static const struct {
		const char *name;
		void (*read)(struct digest *, struct trailer *, const struct trailer_table *);
	} tables[] = {
		{"process", read_processes}, {"excluded", read_classes},      {"operation", read_operations},
		{"async", read_requests},    {"timeline", read_timeline},     {"folded", read_overflow},
		{"mounted", read_mounted},   {"observers", read_observers},   {"sampled_times", read_sampled_times},
		{"platform", read_platform}, {"unrecorded", unrecorded_read}, {"environment", read_environment},
		{"phases", read_phases},     {"locks", digest_read_locks}};
	struct trailer *trailer;
	int code = trailer_open(&trailer, d->log, err);
	if (code < 0 || !trailer)
		return code;
	d->has_trailer = true;
	for (size_t i = 0; code >= 0 && i < sizeof tables / sizeof *tables; i++) {
		struct trailer_table *t;
		code = trailer_find(trailer, tables[i].name, &t, err);
		if (code >= 0 && t) {
			tables[i].read(d, trailer, t);
			trailer_free(t);
		}
	}
	trailer_close(trailer);
	digest_take_queue(d);
	return code;
}
