#include "merging.h"

#include <stdlib.h>
#include <string.h>

#include "upgrade.h"
#include "missing.h"

enum { PAIRS = 256 };

/* ---- the job ---- */

static bool has_pair(const struct log_pair *pairs, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(pairs[i].key, key))
			return true;
	return false;
}

static int copy_pair(struct log_pair *to, const struct log_pair *from)
{
	size_t key = strlen(from->key) + 1, value = strlen(from->value) + 1;
	char *text = log_alloc(key + value);
	if (!text)
		return LOG_E_MEMORY;
	memcpy(text, from->key, key);
	memcpy(text + key, from->value, value);
	*to = (struct log_pair){text, text + key};
	return 0;
}

struct gathered {
	struct log_pair metadata[PAIRS], mounts[PAIRS];
	size_t nmetadata, nmounts;
	const char *version; /* of the runtime that wrote the first log */
	struct log_bytes exe;
	struct text_index commands; /* that are in exe */
};

/* What is not there yet, by its key. */
static int gather(struct log_pair *pairs, size_t *n, const struct log_pair *from, size_t count)
{
	int code = 0;
	for (size_t i = 0; code >= 0 && i < count && *n < PAIRS; i++)
		if (!has_pair(pairs, *n, from[i].key))
			code = copy_pair(&pairs[*n], &from[i]) < 0 ? LOG_E_MEMORY : (++*n, 0);
	return code;
}

/* Command lines that differ stand one behind the other. */
static int add_command(void *gathered, const char *command, size_t length)
{
	struct gathered *j = gathered;
	bool is_new = false;
	if (text_number(&j->commands, command, length, &is_new) == SIZE_MAX)
		return LOG_E_MEMORY;
	if (!is_new || j->exe.used >= 8192)
		return 0;
	int code = j->exe.used ? log_bytes_add(&j->exe, " ; ", 3) : 0;
	return code < 0 ? code : log_bytes_add(&j->exe, command, length);
}

static int gather_job(struct merging *g, struct gathered *j)
{
	int code = 0;
	g->step = "job";
	for (size_t i = 0; code >= 0 && i < g->nparts; i++) {
		struct log *log;
		const struct log_job *job;
		if (g->parts[i].jobless)
			continue;
		code = merging_open(g, &g->parts[i], &log);
		if (code >= 0)
			code = log_job(log, &job, g->err);
		if (code >= 0)
			code = merge_commands(g, log, job->exe, add_command, j);
		const struct log_pair old = {LOG_PREVIOUS_VERSION, log_container(log)->version};
		if (code >= 0 && strcmp(old.value, LOG_VERSION) != 0)
			code = gather(j->metadata, &j->nmetadata, &old, 1);
		if (code >= 0)
			code = gather(j->metadata, &j->nmetadata, job->metadata, job->nmetadata);
		if (code >= 0)
			code = gather(j->mounts, &j->nmounts, job->mounts, job->nmounts);
		log_close(log);
	}
	return code < 0 ? code : log_bytes_add(&j->exe, "", 1);
}

static void forget_job(struct gathered *j)
{
	for (size_t i = 0; i < j->nmetadata; i++)
		log_free((void *)j->metadata[i].key);
	for (size_t i = 0; i < j->nmounts; i++)
		log_free((void *)j->mounts[i].key);
	log_bytes_free(&j->exe);
	text_index_free(&j->commands);
}

static void take_version(struct gathered *j)
{
	j->version = "unknown";
	for (size_t i = 0; i < j->nmetadata; i++) {
		if (strcmp(j->metadata[i].key, "lib_ver") != 0)
			continue;
		struct log_pair version = j->metadata[i];
		memmove(j->metadata + 1, j->metadata, i * sizeof version);
		j->metadata[0] = version;
		j->version = version.value;
		return;
	}
}

/* User and number come from the first log that has them; there is one. */
static const struct merge_part *first_job(const struct merging *g)
{
	const struct merge_part *p = g->parts;
	while (p->jobless)
		p++;
	return p;
}

static int write_job(struct merging *g)
{
	struct gathered *j = log_alloc(sizeof *j);
	int code = j ? gather_job(g, j) : LOG_E_MEMORY;
	int64_t begin = g->intervals[0].begin, end = begin + g->length;
	if (code >= 0) {
		take_version(j);
		bool known = strcmp(j->version, "unknown") != 0;
		code = log_write_job(g->writer, &(struct log_job_text){
							.uid = first_job(g)->uid,
							.start = begin / 1000000000,
							.start_ns = begin % 1000000000,
							.end = end / 1000000000,
							.end_ns = end % 1000000000,
							.nprocs = g->nprocs,
							.id = first_job(g)->id,
							.lib_ver = j->version,
							.exe = (const char *)j->exe.at,
							.metadata = j->metadata + known,
							.nmetadata = j->nmetadata - known,
							.mounts = j->mounts,
							.nmounts = j->nmounts,
						});
	}
	if (j)
		forget_job(j);
	log_free(j);
	return code;
}

/* ---- all of it ---- */

static int write_modules(struct merging *g)
{
	uint64_t partial = 0;
	int code = 0;
	for (size_t i = 0; i < g->nparts; i++)
		partial |= g->parts[i].partial;
	for (int m = 0; code >= 0 && m < LOG_MAX_MODULES; m++) {
		if (partial >> m & 1)
			log_write_partial(g->writer, m);
		code = merge_module(g, m);
	}
	for (int m = 0; code >= 0 && m < LOG_MOD_COUNT && !g->options->drop_trailer; m++)
		code = merge_accesses(g, m);
	return code;
}

static int write_all(struct merging *g)
{
	int code = log_writer_compression(g->writer, g->options->compression);
	if (code >= 0)
		code = write_job(g);
	if (code >= 0)
		code = merge_names_write(g);
	if (code >= 0)
		code = write_modules(g);
	if (code >= 0 && !g->options->drop_trailer)
		code = merge_trailer(g);
	return code;
}

int merge_logs(struct merge *m, const char *const *paths, size_t n, struct log_writer *w, struct log_error *err)
{
	struct merging g = {.options = m, .writer = w, .err = err};
	*err = (struct log_error){.offset = LOG_NOWHERE};
	int code = merge_plan(&g, paths, n);
	if (code >= 0)
		code = missing_begin(&g.missing);
	if (code >= 0)
		code = merge_sites_begin(&g);
	if (code >= 0)
		code = write_all(&g);
	section_free(&g.missing);
	merge_sites_forget(&g);
	if (code >= 0)
		m->offender = NULL;
	m->parts = g.nparts;
	m->runs = g.nruns;
	m->intervals = g.nintervals;
	m->nprocs = g.nprocs;
	m->seconds = (double)g.length / 1e9;
	merge_forget(&g);
	if (code < 0 && log_writer_blame(w, err))
		m->offender = NULL;
	if (code < 0 && !err->code)
		log_fail(err, code, LOG_NOWHERE, code == LOG_E_MEMORY ? "not enough memory" : "logs cannot be merged");
	return code;
}
