#include "api/handle.h"

#include <stdio.h>
#include <strings.h>

EXPORT const char *iolens_version(void)
{
	return IOLENS_VERSION;
}

/* ---- opening, errors ---- */

int handle_failed(iolens_log *log, int code, const struct log_error *err)
{
	if (!log || code >= 0)
		return code;
	log->error = err ? *err : (struct log_error){.offset = LOG_NOWHERE};
	log->error.code = code;
	return code;
}

static void enable(void)
{
#ifdef HAVE_BZIP2
	log_enable_bzip2();
#endif
	log_enable_old();
	log_enable_accesses();
}

static iolens_log *opened(iolens_log *log, int code, const struct log_error *err)
{
	if (log && code < 0)
		handle_failed(log, code, err);
	return log;
}

EXPORT iolens_log *iolens_open(const char *path)
{
	struct log_error err = {.offset = LOG_NOWHERE};
	iolens_log *log = log_alloc(sizeof *log);
	enable();
	return log ? opened(log, log_open_file(&log->log, path, &err), &err) : NULL;
}

EXPORT iolens_log *iolens_open_memory(const void *data, size_t size)
{
	struct log_error err = {.offset = LOG_NOWHERE};
	iolens_log *log = log_alloc(sizeof *log);
	enable();
	return log ? opened(log, log_open_memory(&log->log, data, size, &err), &err) : NULL;
}

EXPORT void iolens_close(iolens_log *log)
{
	if (!log)
		return;
	trailer_close(log->trailer);
	log_close(log->log);
	log_free(log);
}

EXPORT int iolens_error(const iolens_log *log)
{
	return log ? log->error.code : IOLENS_E_MEMORY;
}

EXPORT const char *iolens_error_message(const iolens_log *log)
{
	return !log ? "not enough memory" : log->error.code ? log->error.message : "";
}

EXPORT uint64_t iolens_error_offset(const iolens_log *log)
{
	return log && log->error.code ? log->error.offset : UINT64_MAX;
}

/* ---- job ---- */

/* NULL = it cannot be read. */
static const struct log_job *job_of(iolens_log *log, int *code)
{
	const struct log_job *job = NULL;
	struct log_error err = {.offset = LOG_NOWHERE};
	*code = log && log->log ? log_job(log->log, &job, &err) : LOG_E_USAGE;
	if (*code < 0 && log && log->log)
		handle_failed(log, *code, &err);
	return *code < 0 ? NULL : job;
}

EXPORT int iolens_job(iolens_log *log, struct iolens_job *out, size_t size)
{
	int code;
	const struct log_job *j = job_of(log, &code);
	if (!j)
		return code;
	const struct log_container *c = log_container(log->log);
	struct iolens_job made = {
		.id = j->id,
		.uid = j->uid,
		.nprocs = j->nprocs,
		.start = j->start,
		.start_ns = j->start_ns,
		.end = j->end,
		.end_ns = j->end_ns,
		.run_time = log_run_time(log->log),
		.exe = j->exe,
		.format = c->version,
		.big_endian = c->swapped,
		.compression = (int32_t)c->compression,
	};
	handle_fill(out, size, &made, sizeof made);
	return 1;
}

static int pair_at(const struct log_pair *pairs, size_t n, size_t i, const char **key, const char **value)
{
	if (i >= n)
		return 0;
	if (key)
		*key = pairs[i].key;
	if (value)
		*value = pairs[i].value;
	return 1;
}

EXPORT int iolens_metadata(iolens_log *log, size_t i, const char **key, const char **value)
{
	int code;
	const struct log_job *j = job_of(log, &code);
	return j ? pair_at(j->metadata, j->nmetadata, i, key, value) : code;
}

EXPORT int iolens_mount(iolens_log *log, size_t i, const char **point, const char **type)
{
	int code;
	const struct log_job *j = job_of(log, &code);
	return j ? pair_at(j->mounts, j->nmounts, i, point, type) : code;
}

EXPORT int iolens_mount_of(iolens_log *log, const char *path, const char **point, const char **type)
{
	int code;
	const struct log_job *j = job_of(log, &code);
	const struct log_pair *m = j && path ? log_mount_of(j, path) : NULL;
	return j ? pair_at(m, m != NULL, 0, point, type) : code;
}

/* ---- names ---- */

static int names_of(iolens_log *log)
{
	struct log_error err = {.offset = LOG_NOWHERE};
	if (!log || !log->log)
		return LOG_E_USAGE;
	return handle_failed(log, log_names(log->log, &err), &err);
}

EXPORT const char *iolens_name(iolens_log *log, uint64_t id)
{
	names_of(log);
	return log && log->log ? log_name(log->log, id) : NULL;
}

EXPORT int iolens_name_at(iolens_log *log, size_t i, uint64_t *id, const char **name)
{
	int code = names_of(log);
	if (!log || !log->log || i >= log_names_count(log->log))
		return code;
	*name = log_name_at(log->log, i, id);
	return 1;
}

/* ---- modules ---- */

EXPORT int iolens_module_id(const char *name)
{
	for (int m = 0; name && m < LOG_MOD_COUNT; m++) {
		const char *key = schema_modules[m].key;
		if (!strcasecmp(schema_modules[m].name, name) || (key && !strcasecmp(key, name)))
			return m;
	}
	return -1;
}

EXPORT int iolens_module(iolens_log *log, int module, struct iolens_module *out, size_t size)
{
	if (module < 0 || module >= LOG_MAX_MODULES)
		return 0;
	const struct schema_module *m = module < LOG_MOD_COUNT ? &schema_modules[module] : NULL;
	struct iolens_module made = {
		.key = m ? m->key : NULL, .name = log_module_name(module), .doc = m ? m->doc : NULL};
	if (log && log->log) {
		const struct log_container *c = log_container(log->log);
		made.version = c->module_version[module];
		made.present = c->module[module].length > 0;
		made.partial = c->partial >> module & 1;
		made.stored_size = c->module[module].length;
	}
	handle_fill(out, size, &made, sizeof made);
	return 1;
}
