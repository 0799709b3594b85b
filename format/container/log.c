#include "log.h"

#include <fcntl.h>
#include <string.h>

#include "descriptor.h"
#include "reader.h"

int (*log_open_older)(struct log *log, struct log_error *err);
void (*log_find_accesses)(struct log *log);

static int open_source(struct log *log, struct log **out, struct log_error *err)
{
	int code = container_read(&log->container, &log->source, err);
	if (code == LOG_E_OLD && log_open_older)
		code = log_open_older(log, err);
	if (code < 0) {
		log_close(log);
		return code;
	}
	if (!log->old && log_find_accesses)
		log_find_accesses(log);
	*out = log;
	return code;
}

int log_open_file(struct log **out, const char *path, struct log_error *err)
{
	return log_open_descriptor(out, descriptor_open(path, O_RDONLY | O_NONBLOCK, 0), err);
}

int log_open_descriptor(struct log **out, int fd, struct log_error *err)
{
	struct source source;
	*out = NULL;
	int code = source_open_descriptor(&source, fd, err);
	if (code < 0)
		return code;
	struct log *log = log_alloc(sizeof *log);
	if (!log) {
		source_close(&source);
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	}
	log->source = source;
	return open_source(log, out, err);
}

int log_open_memory(struct log **out, const void *data, size_t size, struct log_error *err)
{
	*out = NULL;
	struct log *log = log_alloc(sizeof *log);
	if (!log)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	source_open_memory(&log->source, data, size);
	return open_source(log, out, err);
}

void log_close(struct log *log)
{
	if (!log)
		return;
	source_close(&log->source);
	log_free(log->job_pairs);
	log_bytes_free(&log->names_text);
	log_free(log->names);
	log_free(log->missing);
	if (log->old)
		log_free(log->old->mounts);
	log_free(log->old);
	log_free(log);
}

const struct log_container *log_container(const struct log *log)
{
	return &log->container;
}

const char *log_module_name(int module)
{
	return module >= 0 && module < LOG_MOD_COUNT ? schema_modules[module].name : "<UNKNOWN>";
}
