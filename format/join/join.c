/* What places tell each other before the log is made: what their stores hold, and what is decided of that. */
#include "join.h"

#include <stdio.h>
#include <string.h>

#include "joining.h"
#include "reader.h"

/* ---- messages ---- */

int joining_begin(struct log_bytes *out, const char *magic, size_t size)
{
	struct join_head head = {0};
	memcpy(head.magic, magic, strlen(magic));
	out->used = 0;
	int code = log_bytes_room(out, size);
	if (code < 0)
		return code;
	memset(out->at, 0, size);
	memcpy(out->at, &head, sizeof head);
	out->used = size;
	return 0;
}

void joining_end(struct log_bytes *out)
{
	uint64_t size = out->used;
	memcpy(out->at + offsetof(struct join_head, size), &size, sizeof size);
}

bool joining_is(const void *from, size_t n, const char *magic, size_t size)
{
	struct join_head head;
	if (n < size)
		return false;
	memcpy(&head, from, sizeof head);
	return head.size == n && !strncmp(head.magic, magic, sizeof head.magic);
}

int joining_fail(struct join *j, int code, const char *what)
{
	return j->a.err.code ? j->a.err.code : log_fail(&j->a.err, code, LOG_NOWHERE, what);
}

/* ---- a place ---- */

void join_fail(struct join *j, const char *why)
{
	if (j->survey.failed)
		return;
	j->survey.failed = j->share.failed = 1;
	snprintf(j->survey.why, sizeof j->survey.why, "%s", why);
	memcpy(j->share.why, j->survey.why, sizeof j->share.why);
}

static int add_sources(struct join *j)
{
	int code = 0;
	for (size_t n = 0; code >= 0 && n < j->place.nstores; n++)
		code = assembly_add_source(&j->a, j->place.stores[n]);
	return code < 0 ? joining_fail(j, code, "not enough memory") : 0;
}

static bool is_at_home(const struct join *j, int64_t rank)
{
	size_t low = 0, high = j->place.nranks;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (j->place.ranks[middle] < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < j->place.nranks && j->place.ranks[low] == rank;
}

/* The stores must be those of ranks that are at home here: what else there is, `iolens recover` tells apart. */
static int plan(struct join *j)
{
	struct assembly *a = &j->a;
	if (!a->nsources)
		assembly_plan_nothing(a, j->place.nprocs);
	else if (assembly_plan(a) < 0)
		return a->err.code;
	if (a->nparts != 1 || !a->parts[0].mpi)
		return joining_fail(j, LOG_E_UNFINISHED, "stores of something else are among those of the ranks");
	a->part = &a->parts[0];
	a->parts[0].nprocs = j->place.nprocs;
	for (size_t m = 0; m < a->part->nmembers; m++)
		if (!is_at_home(j, a->part->members[m].rank))
			return joining_fail(j, LOG_E_UNFINISHED, "a store is of a rank that is not of this place");
	return 0;
}

static int reduce(struct join *j)
{
	struct assembly *a = &j->a;
	int code = 0;
	for (int part = PRECOMPRESSED_RECORDS; code >= 0 && part < PRECOMPRESSED_PARTS; part++) {
		a->module = precompressed_module(part);
		code = assembly_reduce(a);
		j->reduced[part] = a->shared;
		a->shared = (struct shared){0};
	}
	return code;
}

/* Command, user and number of the first rank, the mounts of the first one that has read them. */
static int keep_job(struct assembly *a, struct store_reader *i)
{
	struct join *j = (struct join *)a;
	const struct log_job *job;
	int code = log_job(i->log, &job, &a->err);
	if (code < 0)
		return code;
	if (j->survey.job == JOIN_NOBODY) {
		j->survey.job = j->place.number;
		a->first = *job;
		code = log_bytes_add(&j->job, job->exe, strlen(job->exe) + 1);
	}
	for (size_t n = 0; code >= 0 && n < job->nmounts; n++) {
		code = log_bytes_add(&j->job, job->mounts[n].key, strlen(job->mounts[n].key) + 1);
		if (code >= 0)
			code = log_bytes_add(&j->job, job->mounts[n].value, strlen(job->mounts[n].value) + 1);
	}
	if (job->nmounts)
		j->survey.mounts = j->place.number;
	return code < 0 || !job->nmounts ? code : ASSEMBLY_STOP;
}

static int note_name(void *assembly, uint64_t id, const char *name)
{
	struct join *j = assembly;
	(void)name;
	return name_owners_add(&j->owners, id, j->place.number);
}

/* What a process has deflated ahead is in the log in any case. */
static int note_names(struct assembly *a, struct store_reader *i)
{
	struct log_error damage;
	int code = a->source->precompressed ? 0 : names_walk(i->log, note_name, a, &damage);
	return code == LOG_E_MEMORY ? code : 0;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static int look(struct join *j)
{
	struct assembly *a = &j->a;
	int code = add_sources(j);
	if (code < 0)
		return code;
	assembly_clock(a, "survey");
	assembly_survey(a);
	code = plan(j);
	assembly_clock(a, "reduce");
	if (code >= 0)
		code = reduce(j);
	if (code >= 0)
		code = assembly_each(a, ASSEMBLY_RANKS, keep_job);
	if (code >= 0)
		code = assembly_each(a, ASSEMBLY_NAMED, note_names);
	name_owners_settle(&j->owners);
	assembly_clock(a, NULL);
	for (size_t n = 0; n < a->nsources; n++) {
		j->survey.epoch = earlier(j->survey.epoch, a->sources[n].epoch);
		j->survey.end = a->sources[n].end > j->survey.end ? a->sources[n].end : j->survey.end;
	}
	j->survey.stores = (int64_t)a->nsources;
	j->survey.lost = (int64_t)(a->lost.used / sizeof(struct assembly_lost));
	j->survey.group_readable = a->group_readable;
	if (code >= 0)
		assembly_sum_communication(a);
	j->survey.communication = a->communication;
	return code;
}

int join_open(struct join **out, const struct assemble_job *job, const struct join_node *place)
{
	struct join *j = *out = log_alloc(sizeof *j);
	if (!j)
		return LOG_E_MEMORY;
	j->place = *place;
	j->a.job = job;
	j->a.ranks = place->ranks;
	j->a.nranks = place->nranks;
	j->survey.job = j->survey.mounts = JOIN_NOBODY;
	int code = look(j);
	if (code < 0)
		join_fail(j, j->a.err.message[0] ? j->a.err.message : "not enough memory");
	return code;
}

const struct log_error *join_error(const struct join *j)
{
	return &j->a.err;
}

void join_close(struct join *j)
{
	if (!j)
		return;
	for (int part = 0; part < JOIN_MODULES; part++)
		shared_free(&j->reduced[part]);
	id_set_free(&j->unnamed);
	name_owners_free(&j->owners);
	log_bytes_free(&j->job);
	log_bytes_free(&j->texts);
	log_writer_free(j->memory);
	log_writer_free(j->log);
	assembly_free(&j->a);
	assembly_forget(&j->a);
	log_free(j);
}

/* ---- surveys ---- */

/* What is behind a head: the ids, by precompressed_part, then owners of names. */
struct behind {
	struct id_set ids[JOIN_MODULES];
	struct name_owners owners;
};

/* False when they are not all there. */
static bool read_behind(struct behind *b, const uint64_t counts[JOIN_MODULES], uint64_t owners, const uint8_t *from,
			size_t n)
{
	uint64_t id;
	for (int part = 0; part < JOIN_MODULES; part++) {
		if (counts[part] > n / sizeof id)
			return false;
		for (uint64_t k = 0; k < counts[part]; k++, from += sizeof id, n -= sizeof id) {
			memcpy(&id, from, sizeof id);
			if (id_set_add(&b->ids[part], id) < 0)
				return false;
		}
	}
	return name_owners_read(&b->owners, owners, from, n);
}

static int write_behind(const struct join *j, struct log_bytes *out)
{
	int code = 0;
	for (int part = 0; code >= 0 && part < JOIN_MODULES; part++)
		for (size_t n = 0; code >= 0 && n < j->reduced[part].used; n++)
			code = log_bytes_add(out, &j->reduced[part].entries[n].id, sizeof(uint64_t));
	return code < 0 ? code
			: log_bytes_add(out, name_owners(&j->owners), j->owners.settled * sizeof(struct name_owner));
}

static void keep_common(struct join *j, const struct id_set ids[JOIN_MODULES])
{
	for (int part = PRECOMPRESSED_RECORDS; part < JOIN_MODULES; part++)
		shared_keep_ids(&j->reduced[part], &ids[part]);
}

static void free_behind(struct behind *b)
{
	name_owners_free(&b->owners);
	for (int part = 0; part < JOIN_MODULES; part++)
		id_set_free(&b->ids[part]);
}

int join_survey_add(struct join *j, const void *survey, size_t n)
{
	struct join_survey s;
	struct behind behind = {0};
	if (!joining_is(survey, n, "survey2", sizeof s))
		return joining_fail(j, LOG_E_DAMAGED, "places of different releases");
	memcpy(&s, survey, sizeof s);
	s.why[JOIN_WHY - 1] = '\0';
	if (s.failed)
		join_fail(j, s.why);
	bool good = read_behind(&behind, s.ids, s.owners, (const uint8_t *)survey + sizeof s, n - sizeof s);
	if (good)
		keep_common(j, behind.ids);
	good = good && name_owners_merge(&j->owners, &behind.owners) >= 0;
	free_behind(&behind);
	j->survey.stores += s.stores;
	j->survey.lost += s.lost;
	j->survey.epoch = earlier(j->survey.epoch, s.epoch);
	j->survey.end = s.end > j->survey.end ? s.end : j->survey.end;
	j->survey.job = s.job < j->survey.job ? s.job : j->survey.job;
	j->survey.mounts = s.mounts < j->survey.mounts ? s.mounts : j->survey.mounts;
	j->survey.group_readable |= s.group_readable;
	j->survey.communication.ranks += s.communication.ranks;
	j->survey.communication.time += s.communication.time;
	j->survey.communication.squares += s.communication.squares;
	j->survey.communication.synchronization += s.communication.synchronization;
	j->survey.communication.its_squares += s.communication.its_squares;
	return good ? 0 : joining_fail(j, LOG_E_DAMAGED, "a place's survey cannot be read");
}

int join_survey(struct join *j, struct log_bytes *out)
{
	int code = joining_begin(out, "survey2", sizeof j->survey);
	if (code < 0)
		return joining_fail(j, code, "not enough memory");
	memcpy(&j->survey.head, out->at, sizeof j->survey.head);
	for (int part = 0; part < JOIN_MODULES; part++)
		j->survey.ids[part] = j->reduced[part].used;
	j->survey.owners = j->owners.settled;
	memcpy(out->at, &j->survey, sizeof j->survey);
	code = write_behind(j, out);
	joining_end(out);
	return code < 0 ? joining_fail(j, code, "not enough memory") : 0;
}

struct join_found join_found(const struct join *j)
{
	struct join_found f = {j->survey.stores, j->survey.lost, j->survey.failed | j->share.failed, ""};
	memcpy(f.why, j->survey.failed ? j->survey.why : j->share.why, sizeof f.why);
	return f;
}

/* ---- the decision ---- */

int join_decide(struct join *j, struct log_bytes *out)
{
	const struct assemble_job *job = j->a.job;
	struct join_decision d = {
		.job = j->survey.job, .mounts = j->survey.mounts, .communication = j->survey.communication};
	d.epoch = job->epoch.realtime ? job->epoch.realtime : j->survey.epoch;
	double ended = (double)(job->ended - d.epoch) * 1e-9;
	d.end = job->ended && ended > j->survey.end ? ended : j->survey.end;
	for (int part = 0; part < JOIN_MODULES; part++)
		d.ids[part] = j->reduced[part].used;
	name_owners_keep_several(&j->owners);
	d.owners = j->owners.settled;
	int code = joining_begin(out, "decide2", sizeof d);
	if (code < 0)
		return joining_fail(j, code, "not enough memory");
	memcpy(&d.head, out->at, sizeof d.head);
	memcpy(out->at, &d, sizeof d);
	code = write_behind(j, out);
	joining_end(out);
	return code < 0 ? joining_fail(j, code, "not enough memory") : 0;
}

/* What another place writes. */
static int gather_unnamed(struct join *j, const struct behind *b)
{
	int code = 0;
	const struct name_owner *owner = name_owners(&b->owners);
	for (int part = PRECOMPRESSED_RECORDS; part < JOIN_MODULES; part++)
		for (size_t n = 0; code >= 0 && n < j->reduced[part].used; n++)
			code = id_set_add(&j->unnamed, j->reduced[part].entries[n].id);
	for (size_t n = 0; code >= 0 && n < b->owners.settled; n++)
		if (owner[n].place < j->place.number)
			code = id_set_add(&j->unnamed, owner[n].id);
	return code;
}

int joining_obey(struct join *j, const void *decision, size_t n)
{
	struct join_decision *d = &j->decision;
	struct behind behind = {0};
	if (!joining_is(decision, n, "decide2", sizeof *d))
		return joining_fail(j, LOG_E_DAMAGED, "places of different releases");
	memcpy(d, decision, sizeof *d);
	bool good = read_behind(&behind, d->ids, d->owners, (const uint8_t *)decision + sizeof *d, n - sizeof *d);
	if (good)
		keep_common(j, behind.ids);
	for (int part = 0; part < JOIN_MODULES; part++)
		good &= j->reduced[part].used == d->ids[part];
	good = good && gather_unnamed(j, &behind) >= 0;
	free_behind(&behind);
	j->a.epoch = d->epoch;
	j->a.end = d->end;
	j->a.communication = d->communication;
	j->a.unheaded = j->place.number;
	return good ? 0 : joining_fail(j, LOG_E_DAMAGED, "the decision cannot be read");
}
