#include <string.h>

#include "reader.h"

/* Where the fields are: before 3.41 there were no nanoseconds. */
struct job_layout {
	int uid, start, start_ns, end, end_ns, nprocs, id, metadata; /* byte offsets, -1 = absent */
};

static const struct job_layout with_ns = {0, 8, 16, 24, 32, 40, 48, 56};
static const struct job_layout without_ns = {0, 8, -1, 16, -1, 24, 32, 40};

static int64_t job_number(const struct log *log, int at)
{
	return at < 0 ? 0 : (int64_t)container_u64(&log->container, log->job_text + at);
}

static void read_numbers(struct log *log, const struct job_layout *l)
{
	struct log_job *j = &log->job;
	j->uid = job_number(log, l->uid);
	j->start = job_number(log, l->start);
	j->start_ns = job_number(log, l->start_ns);
	j->end = job_number(log, l->end);
	j->end_ns = job_number(log, l->end_ns);
	j->nprocs = job_number(log, l->nprocs);
	j->id = job_number(log, l->id);
}

char *job_next_line(char **text)
{
	char *line = *text;
	if (!line)
		return NULL;
	*text = strchr(line, '\n');
	if (*text)
		*(*text)++ = 0;
	return line;
}

size_t job_split_lines(char *text, char separator, struct log_pair *out)
{
	size_t n = 0;
	for (char *line; (line = job_next_line(&text));) {
		char *cut = strchr(line, separator);
		if (!cut)
			continue;
		*cut = 0;
		out[n++] = (struct log_pair){line, cut + 1};
	}
	return n;
}

/* Lines are `type<TAB>mount point`; blanks separate too. */
static size_t split_mounts(char *text, struct log_pair *out)
{
	size_t n = 0;
	for (char *line; (line = job_next_line(&text));) {
		size_t type = strcspn(line, " \t");
		size_t gap = strspn(line + type, " \t");
		char *point = line + type + gap;
		if (!type || !*point)
			continue;
		line[type] = 0;
		point[strcspn(point, " \t")] = 0;
		out[n++] = (struct log_pair){point, line};
	}
	return n;
}

void job_sort_mounts(struct log_pair *m, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct log_pair one = m[i];
		size_t length = strlen(one.key), k = i;
		for (; k && strlen(m[k - 1].key) < length; k--)
			m[k] = m[k - 1];
		m[k] = one;
	}
}

static size_t count_lines(const char *text)
{
	size_t n = 1;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static int read_texts(struct log *log, size_t metadata_at, struct log_error *err)
{
	struct log_job *j = &log->job;
	char *metadata = log->job_text + metadata_at;
	char *exe = metadata + CONTAINER_METADATA;
	metadata[CONTAINER_METADATA - 1] = 0;
	size_t room = count_lines(metadata);
	log->job_pairs = log_alloc((room + count_lines(exe)) * sizeof *log->job_pairs);
	if (!log->job_pairs)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	struct log_pair *mounts = log->job_pairs + room;
	j->exe = job_next_line(&exe);
	j->metadata = log->job_pairs;
	j->nmetadata = job_split_lines(metadata, '=', log->job_pairs);
	j->mounts = mounts;
	j->nmounts = exe ? split_mounts(exe, mounts) : 0;
	job_sort_mounts(mounts, j->nmounts);
	return LOG_OK;
}

/* Bytes of the job region, at most what the longest one has. */
static int64_t read_job_text(struct log *log, struct log_error *err)
{
	struct region r;
	int64_t used = region_open(&r, &log->container, &log->source, &log->container.job, err);
	for (int64_t got = 1; used >= 0 && got && used < CONTAINER_JOB_MAX; used += got) {
		got = region_read(&r, log->job_text + used, (size_t)(CONTAINER_JOB_MAX - used), err);
		if (got < 0)
			used = got;
		if (got <= 0)
			break;
	}
	region_close(&r);
	return used;
}

static int read_job(struct log *log, struct log_error *err)
{
	const struct job_layout *l = log->container.minor < 41 ? &without_ns : &with_ns;
	if (!log->container.job.length)
		return log_fail(err, LOG_E_DAMAGED, log->container.job.offset, "no job record");
	int64_t used = read_job_text(log, err);
	if (used < 0)
		return (int)used;
	if (used <= l->metadata + CONTAINER_METADATA)
		return log_fail(err, LOG_E_DAMAGED, log->container.job.offset, "job record is too short");
	read_numbers(log, l);
	return read_texts(log, (size_t)l->metadata, err);
}

int log_job(struct log *log, const struct log_job **out, struct log_error *err)
{
	if (!log->job_read) {
		int code = read_job(log, err);
		if (code < 0)
			return code;
		log->job_read = true;
	}
	if (out)
		*out = &log->job;
	return LOG_OK;
}

double log_run_time(struct log *log)
{
	const struct log_job *j;
	if (log_job(log, &j, NULL) < 0 || !j->end)
		return 0;
	double whole = (double)j->end - (double)j->start;
	double t = log->container.minor < 41 ? whole + 1 : whole + ((double)j->end_ns - (double)j->start_ns) * 1e-9;
	return t > 0 ? t : 0;
}

static bool is_below(const char *path, const char *point)
{
	size_t n = strlen(point);
	if (strncmp(path, point, n))
		return false;
	return !path[n] || path[n] == '/' || (n && point[n - 1] == '/');
}

const struct log_pair *log_mount_of(const struct log_job *job, const char *path)
{
	for (size_t i = 0; i < job->nmounts; i++)
		if (is_below(path, job->mounts[i].key))
			return &job->mounts[i];
	return NULL;
}
