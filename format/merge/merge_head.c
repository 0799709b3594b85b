/* The record that a region begins with, where it says something about the ranks of several runs together. */
#include <string.h>

#include "merging.h"

static const char suffix[] = "_variance";

/* The counter of the records that a field of the header is the variance of; NULL = it is none. */
static const struct schema_field *counter_of(const struct schema_module *m, const struct schema_field *f)
{
	char name[64] = "";
	size_t n = strlen(f->name), end = sizeof suffix - 1;
	if (n <= end || n - end >= sizeof name || strcmp(f->name + n - end, suffix) != 0)
		return NULL;
	memcpy(name, f->name, n - end);
	return schema_by_name(m, name);
}

void merge_head_see(struct merge_head *h, const struct log_record *r)
{
	const struct schema_module *m = r->schema;
	h->records++;
	for (uint32_t i = 0; i < m->header->nfields && i < MERGE_HEAD_FIELDS; i++) {
		const struct schema_field *f = counter_of(m, &m->header->fields[i]);
		double value;
		if (!f)
			continue;
		memcpy(&value, (const uint8_t *)r->data + f->offset, sizeof value);
		double from_mean = value - h->mean[i];
		h->mean[i] += from_mean / (double)h->records;
		h->deviation[i] += from_mean * (value - h->mean[i]);
	}
}

void merge_head_set(const struct merge_head *h, const struct schema_module *m, uint8_t *header)
{
	for (uint32_t i = 0; i < m->header->nfields && i < MERGE_HEAD_FIELDS && h->records; i++) {
		double variance = h->deviation[i] / (double)h->records;
		if (counter_of(m, &m->header->fields[i]))
			memcpy(header + m->header->fields[i].offset, &variance, sizeof variance);
	}
}
