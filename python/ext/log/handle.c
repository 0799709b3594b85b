#include "handle.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "budget.h"
#include "reader.h"

#define SPARE ((uint64_t)256 << 20)

static int copy_bytes(struct handle *h, const void *data, size_t size, struct log_error *err)
{
	h->copy = malloc(size ? size : 1);
	if (!h->copy)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	memcpy(h->copy, data, size);
	return log_open_memory(&h->log, h->copy, size, err);
}

int handle_open(struct handle **out, const char *path, const void *data, size_t size, struct log_error *err)
{
	struct handle *h = calloc(1, sizeof *h);
	*out = NULL;
	if (!h)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	atomic_init(&h->refs, 1);
	pthread_mutex_init(&h->lock, NULL);
	uint64_t spare;
	int code = budget_spare(&spare, SPARE, err);
	if (code >= 0)
		code = data ? copy_bytes(h, data, size, err) : log_open_file(&h->log, path, err);
	if (code < 0) {
		handle_drop(h);
		return code;
	}
	h->log->spare = spare;
	*out = h;
	return code;
}

int handle_allows(const struct log *log, uint64_t stored, uint64_t unpacked, struct log_error *err)
{
	char text[48];
	uint64_t most = budget_for(log->spare, stored);
	if (unpacked <= most)
		return LOG_OK;
	snprintf(text, sizeof text, "unpacks to more than %llu MiB", (unsigned long long)(most >> 20));
	return log_fail(err, LOG_E_BUDGET, LOG_NOWHERE, text);
}

struct handle *handle_hold(struct handle *h)
{
	atomic_fetch_add(&h->refs, 1);
	return h;
}

void handle_drop(struct handle *h)
{
	if (!h || atomic_fetch_sub(&h->refs, 1) > 1)
		return;
	log_close(h->log);
	dictionary_drop(h->names);
	dictionary_drop(h->mounts[0]);
	dictionary_drop(h->mounts[1]);
	free(h->index);
	free(h->name_code);
	free(h->mount_code[0]);
	free(h->mount_code[1]);
	free(h->copy);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

static size_t first_place(uint64_t id, size_t size)
{
	return (size_t)((id * 0x9e3779b97f4a7c15u) >> 20) & (size - 1);
}

static int make_index(struct handle *h, size_t n)
{
	size_t size = 16;
	while (size < 2 * n)
		size *= 2;
	h->index = calloc(size, sizeof *h->index);
	if (!h->index)
		return LOG_E_MEMORY;
	h->index_size = size;
	for (size_t i = 0; i < n; i++) {
		uint64_t id;
		log_name_at(h->log, i, &id);
		size_t at = first_place(id, size);
		while (h->index[at])
			at = (at + 1) & (size - 1);
		h->index[at] = (uint32_t)i + 1;
	}
	return LOG_OK;
}

static int make_names(struct handle *h)
{
	log_names(h->log, NULL);
	size_t n = log_names_count(h->log);
	h->names = dictionary_new(n);
	h->name_code = calloc(n + 1, sizeof *h->name_code);
	if (!h->names || !h->name_code)
		return LOG_E_MEMORY;
	for (size_t i = 0; i < n; i++) {
		uint64_t id;
		const char *name = log_name_at(h->log, i, &id);
		h->name_code[i] = dictionary_add(h->names, name, strlen(name));
		if (h->name_code[i] < 0)
			return h->name_code[i];
	}
	return make_index(h, n);
}

static int fill_mounts(struct handle *h, const struct log_job *job)
{
	size_t n = log_names_count(h->log);
	for (size_t i = 0; i < n; i++) {
		uint64_t id;
		const struct log_pair *mount = log_mount_of(job, log_name_at(h->log, i, &id));
		for (int k = 0; k < 2; k++) {
			const char *text = mount ? (k ? mount->value : mount->key) : "";
			int32_t code = mount ? dictionary_add(h->mounts[k], text, strlen(text)) : -1;
			if (code < -1)
				return code;
			h->mount_code[k][i] = code;
		}
	}
	return LOG_OK;
}

static int make_mounts(struct handle *h)
{
	const struct log_job nothing = {0}, *job = &nothing;
	if (log_job(h->log, &job, NULL) < 0)
		job = &nothing;
	for (int k = 0; k < 2; k++) {
		h->mounts[k] = dictionary_new(job->nmounts);
		h->mount_code[k] = calloc(log_names_count(h->log) + 1, sizeof *h->mount_code[k]);
		if (!h->mounts[k] || !h->mount_code[k])
			return LOG_E_MEMORY;
	}
	return fill_mounts(h, job);
}

int handle_index_names(struct handle *h, bool mounts, struct log_error *err)
{
	int code = LOG_OK;
	pthread_mutex_lock(&h->lock);
	if (!h->index)
		code = make_names(h);
	if (code >= 0 && mounts && !h->mounts[1])
		code = make_mounts(h);
	pthread_mutex_unlock(&h->lock);
	return code < 0 ? log_fail(err, code, LOG_NOWHERE, "not enough memory for the names") : LOG_OK;
}

int32_t handle_name_number(const struct handle *h, uint64_t id)
{
	for (size_t at = first_place(id, h->index_size); h->index[at]; at = (at + 1) & (h->index_size - 1)) {
		uint64_t found;
		log_name_at(h->log, h->index[at] - 1, &found);
		if (found == id)
			return (int32_t)h->index[at] - 1;
	}
	return -1;
}
