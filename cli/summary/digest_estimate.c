/*
 * How long I/O took, of logs without measured time: that of the slowest rank in files of its own, and of the slowest rank in each
 * file that all ranks share, each where the program called it: at MPI-IO, where it opened the file there.
 */
#include <string.h>

#include "alloc.h"
#include "digest.h"
#include "id_set.h"
#include "index.h"
#include "records.h"
#include "reduce.h"

struct digest_estimate {
	struct id_set of_mpiio; /* files */
	struct index ranks;
	double *by_rank; /* s, by number of the rank */
	double shared;   /* s */
	double by_op[IO_OPS];
	bool any;
};

struct digest_estimate *digest_estimate_make(void)
{
	return log_alloc(sizeof(struct digest_estimate));
}

void digest_estimate_free(struct digest_estimate *e)
{
	if (!e)
		return;
	id_set_free(&e->of_mpiio);
	index_free(&e->ranks);
	log_free(e->by_rank);
	log_free(e);
}

static double seconds(const struct log_record *r, enum field_role role)
{
	double s = reduce_f64(r->schema, r->data, role);
	return s > 0 ? s : 0; /* -1 = not measured */
}

/* Of the slowest rank, where the record says that; else negative. */
static double slowest(struct log_records *records, const struct log_record *r)
{
	const struct schema_field *f = schema_by_role(r->schema, ROLE_SLOWEST);
	double s = -1;
	while (f && f->type != FIELD_F64)
		f = schema_next(r->schema, f);
	if (f && r->rank < 0 && log_records_have(records, f))
		memcpy(&s, (const char *)r->data + f->offset, sizeof s);
	return s;
}

static int add_rank(struct digest_estimate *e, int64_t rank, double s)
{
	bool is_new = false;
	size_t n = index_number(&e->ranks, (uint64_t)rank, &is_new);
	if (n == SIZE_MAX || (is_new && !index_grow(&e->by_rank, n, sizeof *e->by_rank)))
		return LOG_E_MEMORY;
	e->by_rank[n] = (is_new ? 0 : e->by_rank[n]) + s;
	return 0;
}

int digest_estimate_add(struct digest_estimate *e, struct log_records *records, const struct log_record *r)
{
	static const enum field_role roles[IO_OPS] = {
		[IO_READ] = ROLE_READ_TIME, [IO_WRITE] = ROLE_WRITE_TIME, [IO_META] = ROLE_META_TIME};
	const char *key = r->schema->key;
	double all = 0, most = slowest(records, r);
	if (!strcmp(key, "mpiio") && id_set_add(&e->of_mpiio, r->id) < 0)
		return LOG_E_MEMORY;
	if (!strcmp(key, "posix") && id_set_has(&e->of_mpiio, r->id))
		return 0;
	for (int op = 0; op < IO_OPS; op++) {
		double s = seconds(r, roles[op]);
		e->by_op[op] += s;
		all += s;
	}
	e->any = true;
	if (r->rank >= 0)
		return add_rank(e, r->rank, all);
	e->shared += most >= 0 ? most : all;
	return 0;
}

bool digest_estimate_get(const struct digest_estimate *e, double run_time, struct interval_union *out)
{
	double longest = 0, all = 0;
	for (size_t n = 0; n < e->ranks.used; n++)
		longest = e->by_rank[n] > longest ? e->by_rank[n] : longest;
	for (int op = 0; op < IO_OPS; op++)
		all += e->by_op[op];
	*out = (struct interval_union){.total = longest + e->shared};
	out->total = out->total < run_time ? out->total : run_time;
	for (int op = 0; op < IO_OPS && all > 0; op++)
		out->by_op[op] = out->total * e->by_op[op] / all;
	return e->any;
}
