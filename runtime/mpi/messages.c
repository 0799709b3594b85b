/*
 * Ranks of several nodes meet by messages, over a communicator of our own: the root says where it is, who is elsewhere packs
 * its store and sends it, the root makes the log and says how it went. Every operation is non-blocking and is waited for no
 * longer than the deadline.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "finalize.h"
#include "hash.h"
#include "job_log.h"
#include "parcel.h"
#include "session.h"
#include "sys.h"

enum request { OPEN, WHERE, GATHER, PARCEL, OUTCOME };
enum { ROOT = 0, STORE_PATH = 176, TAG = 1, PHASES = 3 };

/* What a rank tells the root. */
struct hello {
	int64_t packed,
		raw; /* bytes of the parcel that follows; 0 = none: the root can read the store, or there is none */
	char store[STORE_PATH]; /* "" = it has none */
};

struct meeting {
	const struct mpi_backend *mpi;
	const struct life_world *world;
	struct patience *patience;
	struct hello mine;
	struct parcel parcel;
	struct hello *all; /* at the root */
	char **stores;     /* at the root: paths that it can read */
	size_t nstores;
	struct assemble_phase phase[PHASES];
	uint64_t begun; /* of the phase */
};

static bool await(struct meeting *m, enum request request)
{
	patience_again(m->patience);
	for (;;) {
		bool done = false;
		if (m->mpi->test(request, &done) != 0)
			return false;
		if (done)
			return true;
		if (!patience_rest(m->patience))
			return false;
	}
}

static void clock_phase(struct meeting *m, int phase, const char *name)
{
	uint64_t now = clock_monotonic();
	m->phase[phase] = (struct assemble_phase){name, (double)(now - m->begun) * 1e-9};
	m->begun = now;
}

/* ---- who is where ---- */

/* "messages-apart" lets every rank think that it is on another node: for tests. */
static uint64_t place(const struct meeting *m)
{
	bool apart = config.finalize && strcmp(config.finalize, "messages-apart") == 0;
	return log_id(session_host()) + (apart ? (uint64_t)m->world->rank : 0);
}

static void introduce(struct meeting *m, bool has_store, uint64_t root)
{
	const char *path = session_store_path();
	if (!has_store || strlen(path) >= sizeof m->mine.store)
		return;
	memcpy(m->mine.store, path, strlen(path));
	if (place(m) == root)
		return;
	m->parcel = parcel_pack(path);
	m->mine.packed = (int64_t)m->parcel.size;
	m->mine.raw = (int64_t)m->parcel.raw;
}

static bool gather(struct meeting *m, bool has_store)
{
	uint64_t root = place(m);
	m->begun = clock_monotonic();
	if (m->mpi->open_begin(OPEN) != 0 || !await(m, OPEN) || m->mpi->open_end() != 0)
		return false;
	clock_phase(m, 0, "open");
	if (m->mpi->broadcast(WHERE, &root, sizeof root, ROOT) != 0 || !await(m, WHERE))
		return false;
	introduce(m, has_store, root);
	if (m->world->rank == ROOT && !(m->all = calloc((size_t)m->world->size, sizeof *m->all)))
		return false;
	if (m->mpi->gather(GATHER, &m->mine, m->all, sizeof m->mine, ROOT) != 0 || !await(m, GATHER))
		return false;
	clock_phase(m, 1, "gather");
	return true;
}

/* ---- the stores ---- */

static void keep_path(struct meeting *m, const char *path)
{
	char *copy = strdup(path);
	if (copy)
		m->stores[m->nstores++] = copy;
}

static bool fetch(struct meeting *m, int64_t rank)
{
	char path[512];
	const struct hello *h = &m->all[rank];
	struct parcel p = {.at = malloc((size_t)h->packed), .size = (size_t)h->packed, .raw = (size_t)h->raw};
	bool good = p.at && m->mpi->receive(PARCEL, p.at, h->packed, (int)rank, TAG) == 0;
	if (good && !await(m, PARCEL)) {
		m->mpi->cancel(PARCEL);
		return false; /* its memory stays: the message may still come */
	}
	snprintf(path, sizeof path, "%s/rank%lld.store", session_world_directory(), (long long)rank);
	good = good && parcel_unpack(&p, path);
	if (good)
		keep_path(m, path);
	free(p.at);
	return good;
}

static bool collect(struct meeting *m)
{
	m->stores = calloc((size_t)m->world->size, sizeof *m->stores);
	bool good = m->stores;
	for (int64_t r = 0; good && r < m->world->size; r++) {
		struct hello *h = &m->all[r];
		h->store[STORE_PATH - 1] = '\0';
		if (h->packed > 0)
			good = fetch(m, r);
		else if (h->store[0])
			keep_path(m, h->store);
	}
	clock_phase(m, 2, "stores");
	return good;
}

static bool deliver(struct meeting *m)
{
	if (!m->parcel.size)
		return true;
	return m->mpi->send(PARCEL, m->parcel.at, (int64_t)m->parcel.size, ROOT, TAG) == 0 && await(m, PARCEL);
}

/* ---- the log ---- */

static bool lead(struct meeting *m)
{
	bool done =
		collect(m) && job_log((const char *const *)m->stores, m->nstores, m->phase, PHASES, m->patience->until);
	for (size_t n = 0; n < m->nstores; n++)
		free(m->stores[n]);
	free(m->stores);
	return done;
}

static bool finish(struct meeting *m)
{
	int32_t done = 0;
	if (m->world->rank == ROOT)
		done = lead(m);
	else if (!deliver(m))
		return false;
	if (m->mpi->broadcast(OUTCOME, &done, sizeof done, ROOT) != 0 || !await(m, OUTCOME))
		return false;
	if (done && m->parcel.size)
		session_drop_store();
	sys_remove_directory(session_world_directory());
	m->mpi->close();
	return done;
}

bool meet_by_messages(const struct mpi_backend *b, const struct life_world *world, bool has_store, struct patience *p)
{
	struct meeting m = {.mpi = b, .world = world, .patience = p};
	bool together = !patience_given_up() && gather(&m, has_store);
	if (!together)
		finalize_not_all(world);
	bool done = together && finish(&m);
	if (done) {
		free(m.parcel.at);
		free(m.all);
	} /* else an operation may be under way on them */
	return done;
}
