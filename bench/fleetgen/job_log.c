#include "job_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "records.h"
#include "shape.h"
#include "writer.h"

/* Programs of one job script run one after the other. */
void job_log_times(const struct job *j, int n, int64_t *start, int64_t *end)
{
	int64_t each = j->run / (j->logs ? j->logs : 1);
	*start = j->start + n * each + (each > 20 ? 5 : 0);
	*end = j->start + (n + 1) * each - (each > 20 ? 2 : 0);
}

void job_log_path(char out[PATH_ROOM], const struct population *p, const struct job *j, int n)
{
	int64_t start, end;
	struct tm day;
	struct dice d = dice_of(p->wanted.seed ^ 0x5eed, j->number * 16 + (uint64_t)n);
	job_log_times(j, n, &start, &end);
	gmtime_r(&(time_t){start}, &day);
	snprintf(out, PATH_ROOM, "%d/%d/%d/%s_%s_id%" PRId64 "-%d_%d-%d-%d-%" PRIu64 "_1.darshan", day.tm_year + 1900,
		 day.tm_mon + 1, day.tm_mday, p->users[j->user].name, applications[j->application].program, j->id,
		 (int)(4000 + roll_below(&d, 60000)), day.tm_mon + 1, day.tm_mday,
		 day.tm_hour * 3600 + day.tm_min * 60 + day.tm_sec, roll(&d));
}

static bool of_mpiio(enum way way)
{
	return way == BY_MPIIO || way == BY_COLLECTIVE || way == BY_HDF5;
}

static void write_job(struct log_writer *w, const struct population *p, const struct job *j, int n)
{
	char command[128];
	struct log_pair mounts[] = {
		{"/scratch", "lustre"}, {"/projects", "gpfs"}, {"/global/home", "nfs"}, {"/", "ext4"}};
	const struct application *a = &applications[j->application];
	bool path = a->command[0] != '.' && a->pattern != SERIAL && a->pattern != TRAINING;
	snprintf(command, sizeof command, "%s%s", path ? "/usr/common/bin/" : "", a->command);
	struct log_job_text job = {.uid = p->users[j->user].uid,
				   .nprocs = j->nprocs,
				   .id = j->id,
				   .lib_ver = "3.4.7",
				   .exe = command,
				   .mounts = mounts,
				   .nmounts = sizeof mounts / sizeof *mounts};
	job_log_times(j, n, &job.start, &job.end);
	job.start_ns = (int64_t)(mix(j->number) % 1000000000);
	job.end_ns = 999999999 - job.start_ns / 2;
	log_write_job(w, &job);
}

static void write_layout(struct log_writer *w, const struct use *u)
{
	struct {
		struct lustre_record record;
		struct lustre_component component;
		int64_t osts[4];
	} r = {.record = {.id = u->id, .rank = 0, .num_components = 1}};
	int64_t stripes = u->rank < 0 ? 4 : 1;
	r.record.num_stripes = stripes;
	r.component = (struct lustre_component){1 << 20, stripes, 0, 0, 0, -1, 0, ""};
	for (int64_t s = 0; s < stripes; s++)
		r.osts[s] = (u->ost + s) % 156;
	log_write_record(w, &r, offsetof(__typeof__(r), osts) + (size_t)stripes * sizeof r.osts[0]);
}

#define EACH_USE(u, all) for (const struct use *u = (all)->list; u < (all)->list + (all)->n; u++)
#define WRITE_MODULE(w, all, module, version, condition, made)        \
	do {                                                          \
		bool begun = false;                                   \
		EACH_USE(u, all)                                      \
		{                                                     \
			if (!(condition))                             \
				continue;                             \
			if (!begun)                                   \
				log_write_module(w, module, version); \
			begun = true;                                 \
			made;                                         \
		}                                                     \
	} while (0)
#define WRITE(w, record)                           \
	do {                                       \
		__typeof__(record) r = record;     \
		log_write_record(w, &r, sizeof r); \
	} while (0)

static void write_modules(struct log_writer *w, const struct uses *all)
{
	WRITE_MODULE(w, all, LOG_MOD_POSIX, 4, u->way != BY_STDIO, WRITE(w, use_posix(u)));
	WRITE_MODULE(w, all, LOG_MOD_MPIIO, 3, of_mpiio(u->way), WRITE(w, use_mpiio(u)));
	WRITE_MODULE(w, all, LOG_MOD_H5F, 3, u->way == BY_HDF5, WRITE(w, use_h5f(u)));
	WRITE_MODULE(w, all, LOG_MOD_LUSTRE, 2, u->way != BY_STDIO && strncmp(u->name, "/scratch/", 9) == 0,
		     write_layout(w, u));
	WRITE_MODULE(w, all, LOG_MOD_STDIO, 2, u->way == BY_STDIO, WRITE(w, use_stdio(u)));
}

/* By the same definitions as the metrics redundant_reads, metadata_ratio and small_shared_writes, from the uses alone. */
static void judge(struct outcome *o, const struct uses *all)
{
	EACH_USE(u, all)
	{
		int64_t read = u->reads * u->read_size;
		o->bytes_read += read;
		o->bytes_written += u->writes * u->write_size;
		o->records += 1 + of_mpiio(u->way);
		if (u->way == BY_STDIO)
			continue;
		if (read > u->extent_read - 1 && read > 0)
			o->redundant += read - u->extent_read;
		if (u->ranks > 1 && u->write_size < 1 << 20 && (u->way == BY_POSIX || u->way == BY_MPIIO))
			o->small_writes += u->writes;
		o->meta_time += u->meta_time;
		o->io_time += u->meta_time + u->read_time + u->write_time;
	}
	double each = o->meta_time / (double)o->nprocs;
	o->pathology = (unsigned char)((o->redundant > 1LL << 40 ? REDUNDANT_READS : 0) |
				       (o->small_writes >= 100000000 ? SMALL_WRITES : 0) |
				       (o->small_writes >= 1000000 ? NOTICED_WRITES : 0));
	if (o->nprocs >= 192 && each > 30 && o->meta_time >= 0.25 * o->io_time)
		o->pathology |= METADATA;
}

int job_log_write(const char *path, const struct population *p, const struct job *j, int n, double files, int most,
		  struct outcome *out)
{
	static struct uses uses; /* of this process, used again for each log */
	struct dice d = dice_of(p->wanted.seed ^ 0x10f5, j->number * 16 + (uint64_t)n);
	struct log_error err = {0};
	struct log_writer *w;
	struct stat s;
	shape_job(&uses, p, j, &d, files, most);
	*out = (struct outcome){.nprocs = j->nprocs, .user = j->user};
	judge(out, &uses);
	if (log_writer_file(&w, path, &err) == 0) {
		write_job(w, p, j, n);
		EACH_USE(u, &uses)
		log_write_name(w, u->id, u->name);
		write_modules(w, &uses);
		log_writer_finish(w, &err);
		log_writer_free(w);
	}
	if (err.code || stat(path, &s) != 0) {
		fprintf(stderr, "fleetgen: %s: %s\n", path, err.code ? err.message : "is not there");
		return -1;
	}
	out->size = s.st_size;
	return 0;
}
