/* Which storage targets an access touched, from the layouts that the LUSTRE module recorded. */
#include <stdlib.h>

#include "trace.h"

struct stripes {
	struct index ids;
	struct log_record *records; /* data: own copies */
	size_t kept;
};

static bool add_record(struct stripes *x, const struct log_record *r)
{
	bool is_new;
	size_t i = index_number(&x->ids, r->id, &is_new);
	if (i == SIZE_MAX || !is_new)
		return i != SIZE_MAX;
	void *data = malloc(r->size);
	if (!data || !index_grow(&x->records, i, sizeof *x->records)) {
		free(data);
		return false;
	}
	memcpy(data, r->data, r->size);
	x->records[i] = *r;
	x->records[i].data = data;
	x->kept = i + 1;
	return true;
}

struct stripes *stripes_open(struct log *log)
{
	struct log_records *records;
	struct log_record r;
	if (!log_container(log)->module[LOG_MOD_LUSTRE].length)
		return NULL;
	struct stripes *x = calloc(1, sizeof *x);
	if (!x || log_records_open(&records, log, LOG_MOD_LUSTRE, NULL) < 0)
		return x;
	while (log_records_next(records, &r, NULL) > 0 && add_record(x, &r))
		;
	log_records_close(records);
	return x;
}

void stripes_close(struct stripes *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->kept; i++)
		free((void *)x->records[i].data);
	free(x->records);
	index_free(&x->ids);
	free(x);
}

const struct log_record *stripes_of(const struct stripes *x, uint64_t id)
{
	size_t i = index_find(&x->ids, id);
	return i < x->kept ? &x->records[i] : NULL;
}

static int add_target(int64_t targets[STRIPES_MAX], int n, int first, int64_t target)
{
	for (int i = first; i < n; i++)
		if (targets[i] == target)
			return n;
	if (n < STRIPES_MAX)
		targets[n++] = target;
	return n;
}

/* The part of [from, to) that lies in the component, stripe by stripe; after stripe_count stripes all are met. */
static int add_component(const struct lustre_component *c, const uint8_t *ids, int64_t from, int64_t to,
			 int64_t targets[STRIPES_MAX], int n)
{
	int first = n;
	from = from > c->ext_start ? from : c->ext_start;
	to = c->ext_end != -1 && to > c->ext_end ? c->ext_end : to;
	if (c->stripe_count <= 0 || c->stripe_size <= 0 || from >= to || from < 0)
		return n;
	int64_t stripe = from / c->stripe_size, last = (to - 1) / c->stripe_size;
	for (int64_t k = 0; k < c->stripe_count && stripe <= last; k++, stripe++) {
		int64_t target;
		memcpy(&target, ids + 8 * (stripe % c->stripe_count), sizeof target);
		n = add_target(targets, n, first, target);
	}
	return n;
}

int stripes_touched(const struct log_record *lustre, int64_t offset, int64_t length, int64_t targets[STRIPES_MAX])
{
	size_t ncomponents, nids, used = 0;
	const uint8_t *components = log_record_array(lustre, schema_by_name(lustre->schema, "component"), &ncomponents);
	const uint8_t *ids = log_record_array(lustre, schema_by_name(lustre->schema, "ost_id"), &nids);
	int n = 0;
	if (offset < 0 || length <= 0 || length > INT64_MAX - offset)
		return 0;
	for (size_t i = 0; i < ncomponents; i++) {
		struct lustre_component c;
		memcpy(&c, components + i * sizeof c, sizeof c);
		n = add_component(&c, ids + 8 * used, offset, offset + length, targets, n);
		used += (size_t)c.stripe_count;
	}
	return n;
}
