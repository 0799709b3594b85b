#include "job_text.h"

#include <stdbool.h>
#include <string.h>

#include "container.h"

enum { EXE_MAX = CONTAINER_JOB_MAX - CONTAINER_JOB };

/* Text of limited length; what would be cut is left out as a whole. */
struct line {
	char *at;
	size_t used, room;
};

static bool line_add(struct line *l, const char *const parts[], size_t n)
{
	size_t need = 0;
	for (size_t i = 0; i < n; i++)
		need += strlen(parts[i]);
	if (need > l->room - l->used)
		return false;
	for (size_t i = 0; i < n; i++)
		for (const char *p = parts[i]; *p; p++)
			l->at[l->used++] = *p == '\n' ? ' ' : *p;
	return true;
}

static void add_pair(struct line *l, const char *key, const char *value)
{
	const char *const parts[] = {key, "=", value, "\n"};
	if (line_add(l, parts, 4))
		l->at[l->used - 1] = '\n';
}

static void add_mount(struct line *l, const struct log_pair *m)
{
	const char *const parts[] = {"\n", m->value, "\t", m->key};
	size_t start = l->used;
	if (!strchr(m->key, '\n') && line_add(l, parts, 4))
		l->at[start] = '\n';
}

static void add_exe(struct line *l, const char *exe)
{
	static const char mark[] = "<TRUNCATED>";
	const char *const parts[] = {exe};
	if (line_add(l, parts, 1))
		return;
	for (; l->used < l->room; l->used++)
		l->at[l->used] = exe[l->used] == '\n' ? ' ' : exe[l->used];
	memcpy(l->at + l->room - strlen(mark), mark, strlen(mark));
}

size_t job_text(char *out, const struct log_job_text *j)
{
	const int64_t numbers[] = {j->uid, j->start, j->start_ns, j->end, j->end_ns, j->nprocs, j->id};
	struct line metadata = {out + sizeof numbers, 0, CONTAINER_METADATA - 1};
	struct line exe = {out + CONTAINER_JOB, 0, EXE_MAX - 1};
	memcpy(out, numbers, sizeof numbers);
	add_pair(&metadata, "lib_ver", j->lib_ver);
	for (size_t i = 0; i < j->nmetadata; i++)
		add_pair(&metadata, j->metadata[i].key, j->metadata[i].value);
	add_exe(&exe, j->exe);
	for (size_t i = 0; i < j->nmounts; i++)
		add_mount(&exe, &j->mounts[i]);
	return CONTAINER_JOB + exe.used + 1;
}
