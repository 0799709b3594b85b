#include "image_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "path.h"
#include "hash.h"
#include "log.h"
#include "process_state.h"
#include "records.h"
#include "schema.h"
#include "store_header.h"
#include "trailer.h"

enum { PAGE = 4096, NAMES_AT = CONTAINER_HEADER + CONTAINER_JOB_MAX, ALIGNMENT = 8, SHOWN = 4 };

static const char state_schema[] = "version u64\nsize u64\n";
static const char nameless[] = "<other files>";

struct store {
	char *memory; /* zeros beyond what is written */
	size_t names, records, state, size;
	size_t names_used, records_used;
	struct process_state *row;
};

static double seconds(const struct image_session *session, uint64_t when)
{
	return when ? (double)((int64_t)when - session->epoch.monotonic) * 1e-9 : 0;
}

/* ---- a record ---- */

static bool before(int64_t value, int64_t count, int64_t other, int64_t other_count)
{
	return count != other_count ? count > other_count : value > other;
}

/* The four most frequent values, 0 aside. */
static void show(const struct observed_frequent *q, int64_t *value, int64_t *count)
{
	for (uint32_t n = 0; n < q->used && n < OBSERVED_DISTINCT; n++) {
		int at = SHOWN;
		while (q->value[n] && at > 0 &&
		       (!count[at - 1] || before(q->value[n], q->count[n], value[at - 1], count[at - 1])))
			at--;
		if (!q->value[n] || at == SHOWN)
			continue;
		memmove(value + at + 1, value + at, (size_t)(SHOWN - 1 - at) * sizeof *value);
		memmove(count + at + 1, count + at, (size_t)(SHOWN - 1 - at) * sizeof *count);
		value[at] = q->value[n];
		count[at] = q->count[n];
	}
}

static void add_counts(struct posix_record *r, const struct observed_file *f)
{
	r->opens += f->opens;
	r->dups += f->dups;
	r->seeks += f->seeks;
	r->stats += f->stats;
	r->mmaps += f->mmaps;
	r->fsyncs += f->fsyncs;
	r->fdsyncs += f->fdsyncs;
	r->rename_sources += f->rename_sources;
	r->rename_targets += f->rename_targets;
	r->reads += f->calls[0];
	r->writes += f->calls[1];
	r->bytes_read += f->bytes[0];
	r->bytes_written += f->bytes[1];
	r->consec_reads += f->consecutive[0];
	r->consec_writes += f->consecutive[1];
	r->seq_reads += f->sequential[0];
	r->seq_writes += f->sequential[1];
	r->rw_switches += f->switches;
	r->mem_not_aligned += f->unaligned_memory;
	r->file_not_aligned += f->unaligned_file;
	for (int s = 0; s < OBSERVED_SIZES; s++) {
		r->size_read[s] += f->size[0][s];
		r->size_write[s] += f->size[1][s];
	}
	r->mode = f->mode ? f->mode : r->mode;
	r->mem_alignment = ALIGNMENT;
	r->file_alignment = f->alignment;
	if (f->max_byte[0] > r->max_byte_read)
		r->max_byte_read = f->max_byte[0];
	if (f->max_byte[1] > r->max_byte_written)
		r->max_byte_written = f->max_byte[1];
	show(&f->access, r->access, r->access_count);
	show(&f->stride, r->stride, r->stride_count);
}

static void stamp(double *first, double *last, double from, double to)
{
	if (from > 0 && (*first == 0 || from < *first))
		*first = from;
	if (to > *last)
		*last = to;
}

static void add_times(struct posix_record *r, const struct observed_file *f, const struct image_session *s)
{
	stamp(&r->open_start_timestamp, &r->open_end_timestamp, seconds(s, f->open_first), seconds(s, f->open_last));
	stamp(&r->close_start_timestamp, &r->close_end_timestamp, seconds(s, f->close_first),
	      seconds(s, f->close_last));
	stamp(&r->read_start_timestamp, &r->read_end_timestamp, seconds(s, f->first[0]), seconds(s, f->last[0]));
	stamp(&r->write_start_timestamp, &r->write_end_timestamp, seconds(s, f->first[1]), seconds(s, f->last[1]));
	r->read_time += (double)f->time[OBSERVED_READ] * 1e-9;
	r->write_time += (double)f->time[OBSERVED_WRITE] * 1e-9;
	r->meta_time += (double)f->time[OBSERVED_META] * 1e-9;
	if ((double)f->longest[0] * 1e-9 > r->max_read_time) {
		r->max_read_time = (double)f->longest[0] * 1e-9;
		r->max_read_time_size = f->longest_bytes[0];
	}
	if ((double)f->longest[1] * 1e-9 > r->max_write_time) {
		r->max_write_time = (double)f->longest[1] * 1e-9;
		r->max_write_time_size = f->longest_bytes[1];
	}
}

/* What all files share: the timeline has one stretch, of which the busy parts cannot be more than all. */
static void add_to_shard(struct state_shard *shard, const struct posix_record *r)
{
	struct state_segment *all = &shard->timeline.segment[0];
	double busy[IO_OPS] = {r->read_time, r->write_time, r->meta_time}, sum = 0;
	double last[] = {r->open_end_timestamp, r->close_end_timestamp, r->read_end_timestamp, r->write_end_timestamp};
	shard->timeline.used = 1;
	if (r->open_start_timestamp > 0 && (all->start == 0 || r->open_start_timestamp < all->start))
		all->start = r->open_start_timestamp;
	for (size_t n = 0; n < sizeof last / sizeof *last; n++)
		all->end = last[n] > all->end ? last[n] : all->end;
	for (int k = 0; k < IO_OPS; k++)
		sum += all->busy[k] += busy[k];
	for (int k = 0; k < IO_OPS; k++) {
		all->busy[k] *= sum > all->end - all->start ? (all->end - all->start) / sum : 1;
		shard->timeline.busy[k] = all->busy[k];
	}
	if (r->bytes_read)
		state_heat_add(&shard->heat[STATE_HEAT_POSIX], IO_READ, r->bytes_read, r->read_start_timestamp,
			       r->read_end_timestamp);
	if (r->bytes_written)
		state_heat_add(&shard->heat[STATE_HEAT_POSIX], IO_WRITE, r->bytes_written, r->write_start_timestamp,
			       r->write_end_timestamp);
}

/* ---- files ---- */

static struct path path_of(const struct image_file *f)
{
	struct path p = {0};
	p.length = (uint32_t)snprintf(p.text, sizeof p.text, "%s", f->path ? f->path : nameless);
	return p;
}

static enum state_class_id class_of(const struct image_file *f, const struct path *p)
{
	if (f->counts.executable)
		return STATE_CLASS_LIBRARY;
	return path_rescued(p) ? STATE_CLASS_NONE : path_excluded(p);
}

static struct posix_record *record_of(struct store *s, const struct path *p)
{
	struct posix_record *r = (struct posix_record *)(s->memory + s->records), *end = r + s->records_used;
	uint64_t id = log_hash(p->text, p->length, 0);
	while (r < end && (uint64_t)r->id != id)
		r++;
	if (r < end)
		return r;
	r->id = id;
	memcpy(s->memory + NAMES_AT + s->names_used, &id, sizeof id);
	memcpy(s->memory + NAMES_AT + s->names_used + sizeof id, p->text, p->length + 1);
	s->names_used += sizeof id + p->length + 1;
	s->records_used++;
	return r;
}

static uint64_t id_of(const struct image *image, uint64_t name)
{
	for (size_t n = 0; name && n < image->nfiles; n++)
		if (image->files[n].name == name) {
			struct path p = path_of(&image->files[n]);
			return log_hash(p.text, p.length, 0);
		}
	return 0;
}

static void add_file(struct store *s, const struct image *image, const struct image_file *f,
		     const struct image_session *session)
{
	struct path p = path_of(f);
	enum state_class_id class = class_of(f, &p);
	if (class) {
		struct state_class *c = &s->row->shard[0].class[class];
		c->opens += f->counts.opens;
		for (int k = 0; k < 2; k++) {
			c->calls[k] += f->counts.calls[k];
			c->bytes[k] += f->counts.bytes[k];
		}
		return;
	}
	struct posix_record *r = record_of(s, &p);
	add_counts(r, &f->counts);
	add_times(r, &f->counts, session);
	if (!r->renamed_from)
		r->renamed_from = id_of(image, f->counts.renamed_from);
}

/* ---- the whole ---- */

static size_t pages(size_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

static bool lay_out(struct store *s, const struct image *image)
{
	size_t names = 0;
	for (size_t n = 0; n < image->nfiles; n++)
		names += sizeof(uint64_t) + (image->files[n].path ? strlen(image->files[n].path) : sizeof nameless) + 1;
	s->records = pages(NAMES_AT + names);
	s->state = s->records + pages((image->nfiles + 1) * sizeof(struct posix_record));
	s->size = s->state + pages(section_in_place_size(state_schema, sizeof(struct process_state), 1, 0)) + PAGE;
	s->memory = aligned_alloc(PAGE, s->size);
	if (s->memory)
		memset(s->memory, 0, s->size);
	return s->memory;
}

static void fill_process(struct state_process *p, const struct image *i, const struct image_session *s)
{
	p->pid = i->started.pid;
	p->parent = i->started.parent_pid;
	p->forked = i->forked;
	p->start = seconds(s, i->started.when);
	p->started = s->epoch.realtime + (int64_t)(p->start * 1e9);
	snprintf(p->host, sizeof p->host, "%.63s", s->host);
	snprintf(p->exe, sizeof p->exe, "%s", i->exe);
	if (!i->ended.when)
		return;
	p->end = seconds(s, i->ended.when);
	p->ended = s->epoch.realtime + (int64_t)(p->end * 1e9);
	if (i->replaced)
		p->end_reason = STATE_END_EXEC;
	else if (WIFEXITED(i->ended.status))
		p->end_reason = STATE_END_EXIT;
	p->exit_code = WIFEXITED(i->ended.status) ? WEXITSTATUS(i->ended.status) : 0;
}

static void fill_head(struct store *s, const struct image *image)
{
	struct header *h = (struct header *)s->memory;
	struct job *j = (struct job *)(s->memory + CONTAINER_HEADER);
	memcpy(h->version, "3.41", 4);
	h->magic = CONTAINER_MAGIC;
	h->compression = LOG_PLAIN;
	h->names = (struct placed){NAMES_AT, s->names_used};
	h->module[LOG_MOD_POSIX] = (struct placed){s->records, s->records_used * sizeof(struct posix_record)};
	h->module_version[LOG_MOD_POSIX] = schema_modules[LOG_MOD_POSIX].version;
	j->uid = image->started.user;
	j->start = s->row->process.started / 1000000000;
	j->start_ns = s->row->process.started % 1000000000;
	j->nprocs = 1;
	j->id = image->started.pid;
	strcpy(j->metadata, "lib_ver=iolens-" IOLENS_VERSION "\n");
	memcpy(j->command, image->command, strnlen(image->command, 3015));
}

static void fill(struct store *s, const struct image *image, const struct image_session *session)
{
	struct trailer_entry *entry =
		(struct trailer_entry *)(s->memory + s->size - sizeof *entry - sizeof(struct trailer_footer));
	s->row = section_in_place(entry, s->memory, s->state, "live", state_schema, sizeof *s->row, 1, 0);
	entry->rows = 1;
	footer_in_place((struct trailer_footer *)(entry + 1), (uint64_t)((char *)entry - s->memory), 1);
	s->row->version = STATE_VERSION;
	s->row->size = sizeof *s->row;
	s->row->shards = 1;
	fill_process(&s->row->process, image, session);
	for (size_t n = 0; n < image->nfiles; n++)
		if (image->files[n].counted)
			add_file(s, image, &image->files[n], session);
	struct posix_record *r = (struct posix_record *)(s->memory + s->records);
	for (size_t n = 0; n < s->records_used; n++)
		add_to_shard(&s->row->shard[0], &r[n]);
	fill_head(s, image);
}

/* Shards that were never used are left out of the file: it is sparse there. */
static bool write_out(const struct store *s, int fd)
{
	size_t used = (size_t)((char *)&s->row->shard[1] - s->memory), last = s->size - PAGE;
	return ftruncate(fd, (off_t)s->size) == 0 && pwrite(fd, s->memory, used, 0) == (ssize_t)used &&
	       pwrite(fd, s->memory + last, PAGE, (off_t)last) == PAGE;
}

bool image_store_write(const struct image *image, const struct image_session *session)
{
	char beside[512], path[512];
	struct store s = {0};
	snprintf(path, sizeof path, "%.380s/%.32s.%d.%llx.store", session->directory, session->host, image->started.pid,
		 (unsigned long long)image->started.when);
	snprintf(beside, sizeof beside, "%.380s/.kernel-%llu", session->directory, (unsigned long long)image->number);
	if (!lay_out(&s, image))
		return false;
	fill(&s, image, session);
	int fd = open(beside, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write_out(&s, fd) && rename(beside, path) == 0;
	if (fd >= 0)
		close(fd);
	if (!good)
		unlink(beside);
	free(s.memory);
	return good;
}
