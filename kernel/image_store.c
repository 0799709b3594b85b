#include "image_store.h"

#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "config.h"
#include "hash.h"
#include "outside.h"
#include "path.h"

enum { ALIGNMENT = 8, SHOWN = 4 };

static const char nameless[] = "<other files>";

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

static bool in_memory_only(const struct path *p)
{
	return path_starts(p, "/memfd:") || path_starts(p, "/SYSV");
}

/* As of a preloaded program: exclusions by default or by a setting, and what undoes them. */
static enum state_class_id class_of(const struct image_file *f, const struct path *p)
{
	enum state_class_id class = path_excluded(p);
	if (f->counts.executable)
		return STATE_CLASS_LIBRARY;
	if (in_memory_only(p))
		return STATE_CLASS_SPECIAL;
	if (!config_module_on(LOG_MOD_POSIX) || (!class && filter_hits(&config.name.exclude, LOG_MOD_POSIX, p->text)))
		class = STATE_CLASS_FILTERED;
	return class && (path_rescued(p) || filter_hits(&config.name.include, LOG_MOD_POSIX, p->text))
		       ? STATE_CLASS_NONE
		       : class;
}

static struct posix_record *record_of(struct outside_store *s, struct index *ids, const struct path *p)
{
	uint64_t id = log_hash(p->text, p->length, 0);
	bool is_new = false;
	size_t n = index_number(ids, id, &is_new);
	if (n == SIZE_MAX)
		return NULL;
	return is_new ? outside_add(s, id, p->text, p->length) : outside_records(s) + n;
}

static uint64_t id_of(const struct image *image, uint64_t name)
{
	size_t n = name ? index_find(&image->names, name) : SIZE_MAX;
	if (n == SIZE_MAX)
		return 0;
	struct path p = path_of(&image->files[n]);
	return log_hash(p.text, p.length, 0);
}

static bool add_file(struct outside_store *s, struct index *ids, const struct image *image, const struct image_file *f,
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
		return true;
	}
	struct posix_record *r = record_of(s, ids, &p);
	if (!r)
		return false;
	add_counts(r, &f->counts);
	add_times(r, &f->counts, session);
	if (!r->renamed_from)
		r->renamed_from = id_of(image, f->counts.renamed_from);
	return true;
}

/* ---- what all files share ---- */

static void add_operations(struct state_shard *shard, const struct observed_image *counts)
{
#define NUMBER(name) STATE_OP_POSIX_##name,
	static const enum state_operation_id ids[] = {OBSERVED_OPERATIONS(NUMBER)};
	for (int n = 0; n < OBSERVED_OPERATION_COUNT; n++) {
		const struct observed_operation *from = &counts->operation[n];
		shard->operation[ids[n]] =
			(struct state_operation){from->count, from->errors, from->bytes, (double)from->time * 1e-9};
	}
}

static void add_classes(struct state_shard *shard, const struct observed_image *counts)
{
	static const enum state_class_id ids[OBSERVED_CLASSES] = {
		[OBSERVED_PIPE] = STATE_CLASS_PIPE,         [OBSERVED_SOCKET] = STATE_CLASS_SOCKET,
		[OBSERVED_TERMINAL] = STATE_CLASS_TERMINAL, [OBSERVED_DEVICE] = STATE_CLASS_DEVICE,
		[OBSERVED_SPECIAL] = STATE_CLASS_SPECIAL,
	};
	for (int n = OBSERVED_PIPE; n < OBSERVED_CLASSES; n++) {
		shard->class[ids[n]].opens += counts->class[n].opens;
		for (int k = 0; k < 2; k++) {
			shard->class[ids[n]].calls[k] += counts->class[n].calls[k];
			shard->class[ids[n]].bytes[k] += counts->class[n].bytes[k];
		}
	}
}

const char *image_shared_path(const char *path, char out[OBSERVED_PATH])
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	char point[OBSERVED_PATH - 32] = "";
	for (struct mntent *m; mounts && (m = getmntent(mounts));) {
		size_t n = strlen(m->mnt_dir);
		if (n > 1 && n >= strlen(point) && n < sizeof point && strncmp(path, m->mnt_dir, n) == 0 &&
		    path[n] == '/')
			memcpy(point, m->mnt_dir, n + 1);
	}
	if (mounts)
		endmntent(mounts);
	snprintf(out, OBSERVED_PATH, "%s/%s", point, nameless);
	return out;
}

/* ---- the whole ---- */

uint64_t image_files(void)
{
	int64_t files = config.budget / OBSERVED_FILE_COST;
	return files < OBSERVED_IMAGE_FILES ? OBSERVED_IMAGE_FILES : files > OBSERVED_FILES ? OBSERVED_FILES : files;
}

/* Ours, as preloaded processes of the job state theirs: parents and children, and images of one process, are found by it. */
static int64_t pid_namespace(void)
{
	struct stat s;
	return stat("/proc/self/ns/pid", &s) == 0 ? (int64_t)s.st_ino : 0;
}

static void fill_process(struct state_process *p, const struct image *i, const struct image_session *s)
{
	p->pid = i->started.pid;
	p->parent = i->started.parent_pid;
	p->pid_namespace = pid_namespace();
	p->forked = i->forked;
	p->observer = STATE_BY_KERNEL;
	p->budget = (int64_t)image_files() * OBSERVED_FILE_COST;
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

static bool fill(struct outside_store *s, const struct image *image, const struct image_session *session)
{
	struct index ids = {0};
	bool good = true;
	fill_process(&s->row->process, image, session);
	s->row->overflow = image->overflow;
	if (image->folded) {
		s->row->has |= STATE_HAS_FOLDED;
		memcpy(s->row->optional.folded, image->folded->directory, sizeof image->folded->directory);
	}
	for (size_t n = 0; good && n < image->nfiles; n++)
		if (image->files[n].counted)
			good = add_file(s, &ids, image, &image->files[n], session);
	struct posix_record *r = outside_records(s);
	for (size_t n = 0; n < s->records_used; n++)
		add_to_shard(&s->row->shard[0], &r[n]);
	add_operations(&s->row->shard[0], &image->counts);
	add_classes(&s->row->shard[0], &image->counts);
	index_free(&ids);
	return good;
}

static bool did_anything(const struct image *i)
{
	int64_t calls = (int64_t)i->nfiles;
	for (int n = 0; n < OBSERVED_OPERATION_COUNT; n++)
		calls += i->counts.operation[n].count;
	for (int n = 0; n < OBSERVED_CLASSES; n++)
		calls += i->counts.class[n].calls[0] + i->counts.class[n].calls[1];
	return calls;
}

bool image_worth_store(const struct image *i)
{
	return !i->preloaded && !i->ignored && i->started.when && (did_anything(i) || !i->forked) &&
	       !(i->replaced && !i->nfiles);
}

static void name_store(char path[512], const struct image *image, const struct image_session *session)
{
	snprintf(path, 512, "%.380s/%.32s.%d.%llx.store", session->directory, session->host, image->started.pid,
		 (unsigned long long)image->started.when);
}

void image_store_remove(const struct image *image, const struct image_session *session)
{
	char path[512];
	name_store(path, image, session);
	unlink(path);
}

bool image_store_write(const struct image *image, const struct image_session *session)
{
	char beside[512], path[512];
	struct outside_store s;
	size_t names = 0;
	name_store(path, image, session);
	snprintf(beside, sizeof beside, "%.380s/.kernel-%llu", session->directory, (unsigned long long)image->number);
	for (size_t n = 0; n < image->nfiles; n++)
		names += image->files[n].path ? strlen(image->files[n].path) : sizeof nameless;
	if (!outside_begin(&s, names, image->nfiles))
		return false;
	bool good = fill(&s, image, session);
	outside_finish(&s, image->started.user, session->job ? session->job : image->started.pid, image->command,
		       overflow_opens(&image->overflow) > 0);
	good = good && outside_write(&s, beside, path);
	outside_free(&s);
	return good;
}
