/* The first place: the log's file, with what is the job's, and room for the regions of all places. */
#include <stdio.h>
#include <string.h>

#include "joining.h"
#include "reader.h"

int join_begin(struct join *j, const char *path, struct join_file *file)
{
	struct log_shared_file shared;
	int code = log_writer_file(&j->log, path, &j->a.err);
	if (code < 0)
		return code;
	if (j->survey.group_readable)
		log_writer_group_readable(j->log);
	code = log_writer_share(j->log, &shared);
	if (code < 0) {
		log_writer_error(j->log, &j->a.err);
		return code;
	}
	*file = (struct join_file){.inode = shared.inode, .changed = shared.changed};
	size_t n = strlen(shared.path);
	if (n >= sizeof file->path)
		return joining_fail(j, LOG_E_USAGE, "path of the log is too long");
	memcpy(file->path, shared.path, n + 1);
	return 0;
}

/* ---- the job's data ---- */

/* Texts with their NULs, alternating; at most `room` pairs. */
static size_t pairs_of(const char *text, const char *end, struct log_pair *out, size_t room)
{
	size_t n = 0;
	while (text < end && n < room) {
		const char *value = text + strlen(text) + 1;
		if (value >= end)
			break;
		out[n++] = (struct log_pair){text, value};
		text = value + strlen(value) + 1;
	}
	return n;
}

enum { MOUNTS = 256 };

static int write_job(struct join *j)
{
	struct assembly *a = &j->a;
	struct log_pair mounts[MOUNTS];
	struct log_job job = {.mounts = mounts};
	struct join_text t;
	for (size_t at = 0; at + sizeof t <= j->texts.used; at += sizeof t + t.size) {
		memcpy(&t, j->texts.at + at, sizeof t);
		const char *text = (const char *)j->texts.at + at + sizeof t, *end = text + t.size;
		if (t.size > j->texts.used - at - sizeof t || !t.size || end[-1])
			return joining_fail(j, LOG_E_DAMAGED, "the job's data cannot be read");
		if (t.place == j->decision.job) {
			a->first.uid = t.uid;
			a->first.id = t.id;
			snprintf(a->command, sizeof a->command, "%s", text);
		}
		if (t.place == j->decision.mounts)
			job.nmounts = pairs_of(text + strlen(text) + 1, end, mounts, MOUNTS);
	}
	return assembly_write_job(a, &job);
}

/* ---- the regions ---- */

static int write_shared(struct join *j, int module)
{
	enum precompressed_part part = precompressed_part_of(module);
	struct shared *s = part < PRECOMPRESSED_PARTS ? &j->reduced[part] : NULL;
	if (!s || !s->used)
		return 0;
	shared_end(s);
	return shared_write(s, j->log);
}

/* JOIN_REGIONS = the module has none. */
static enum join_region region_of(int module)
{
	for (int r = JOIN_RECORDS; module < LOG_OWN_MODULES && r < JOIN_ACCESSES; r++)
		if (joining_module((enum join_region)r) == module)
			return (enum join_region)r;
	return JOIN_REGIONS;
}

static int lay_out_module(struct join *j, int module, uint64_t at[JOIN_REGIONS])
{
	enum join_region r = region_of(module);
	uint32_t version = r == JOIN_REGIONS ? 0 : joining_version(j, r);
	if (!version)
		return 0;
	log_write_module(j->log, module, version);
	write_shared(j, module);
	if (j->share.partial >> module & 1)
		log_write_partial(j->log, module);
	return log_write_room(j->log, j->share.sizes[r], &at[r]);
}

static int lay_out_accesses(struct join *j, enum join_region r, uint64_t at[JOIN_REGIONS])
{
	int module = joining_module(r);
	log_write_accesses(j->log, module);
	if (j->share.partial >> module & 1)
		log_write_partial(j->log, module);
	return log_write_room(j->log, j->share.sizes[r], &at[r]);
}

int join_lay_out(struct join *j, uint64_t at[JOIN_REGIONS])
{
	j->a.writer = j->log;
	write_job(j);
	int code = log_write_room(j->log, j->share.sizes[JOIN_NAMES], &at[JOIN_NAMES]);
	for (int module = 0; code >= 0 && module < LOG_MOD_COUNT; module++)
		code = lay_out_module(j, module, at);
	for (int r = JOIN_ACCESSES; code >= 0 && r < JOIN_REGIONS; r++)
		code = lay_out_accesses(j, (enum join_region)r, at);
	if (code < 0)
		log_writer_error(j->log, &j->a.err);
	return code;
}

void join_give_up(struct join *j)
{
	if (!j)
		return;
	log_writer_free(j->log);
	j->log = NULL;
}

int join_finish(struct join *j)
{
	struct assembly *a = &j->a;
	a->writer = j->log;
	memset(a->phase, 0, sizeof a->phase);
	for (int p = 0; p < ASSEMBLY_PHASES && j->share.phase[p].name[0]; p++)
		a->phase[p] = (struct assemble_phase){j->share.phase[p].name, j->share.phase[p].seconds};
	int code = assembly_check_time(a);
	if (code >= 0)
		code = assembly_sections_end(a, j->survey.lost);
	if (code >= 0) /* what is not whole must not get the log's name */
		code = log_writer_finish(j->log, &a->err);
	else if (!a->err.code)
		log_writer_error(j->log, &a->err);
	return code;
}
