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
#include "note.h"
#include "parcel.h"
#include "session.h"
#include "sys.h"

enum request { OPEN, WHERE, GATHER, PARCEL, OUTCOME, WRITE };
enum { ROOT = 0, STORE_PATH = 176, TAG = 1, PHASES = 3, PIECE = 16 << 20 };

/* What a rank tells the root. */
struct hello {
	int64_t packed,
		raw; /* bytes of the parcel that follows; 0 = none: the root can read the store, or there is none */
	char store[STORE_PATH]; /* "" = it has none */
};

/* What the root tells everybody. */
struct outcome {
	int64_t bytes;   /* of the log that all write together; 0 = the root has written it, or has not */
	int32_t done;    /* what the stores held is in a log */
	char path[1020]; /* of the log that all write together */
};

/* Not on the stack: a message may come into it after this rank has left, and then it stays. */
struct meeting {
	const struct mpi_backend *mpi;
	const struct life_world *world;
	struct patience *patience;
	uint64_t root; /* where it is */
	struct hello mine;
	struct outcome outcome;
	int64_t agreed;
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

static void introduce(struct meeting *m, bool has_store)
{
	const char *path = session_store_path();
	if (!has_store || strlen(path) >= sizeof m->mine.store)
		return;
	memcpy(m->mine.store, path, strlen(path));
	if (place(m) == m->root)
		return;
	m->parcel = parcel_pack(path);
	m->mine.packed = (int64_t)m->parcel.size;
	m->mine.raw = (int64_t)m->parcel.raw;
}

static bool gather(struct meeting *m, bool has_store)
{
	m->root = place(m);
	m->begun = clock_monotonic();
	if (m->mpi->open_begin(OPEN) != 0 || !await(m, OPEN) || m->mpi->open_end() != 0)
		return false;
	clock_phase(m, 0, "open");
	if (m->mpi->broadcast(WHERE, &m->root, sizeof m->root, ROOT) != 0 || !await(m, WHERE))
		return false;
	introduce(m, has_store);
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
	return collect(m) && job_log((const char *const *)m->stores, m->nstores, m->phase, PHASES, m->patience->until);
}

static void forget_stores(struct meeting *m)
{
	for (size_t n = 0; n < m->nstores; n++)
		free(m->stores[n]);
	free(m->stores);
}

static bool tell(struct meeting *m)
{
	return m->mpi->broadcast(OUTCOME, &m->outcome, sizeof m->outcome, ROOT) == 0 && await(m, OUTCOME);
}

/* ---- the log by collective MPI-IO, for file systems that want it so: the root's draft goes through the aggregators ---- */

static bool together(void)
{
	return config.finalize && strcmp(config.finalize, "mpiio") == 0;
}

static void draft_path(char *path, size_t room)
{
	snprintf(path, room, "%s/draft.darshan", session_world_directory());
}

#define PARTIAL "_partial" /* while it is being written */

static struct outcome draft(struct meeting *m)
{
	char path[512];
	struct stat s;
	struct outcome o = {0};
	draft_path(path, sizeof path);
	job_log_name(o.path, sizeof o.path - sizeof PARTIAL);
	bool exists = sys_exists(o.path);
	if (exists)
		note("%s: log not written: it exists already", o.path);
	strcat(o.path, PARTIAL);
	if (!exists && collect(m) &&
	    job_log_write(path, (const char *const *)m->stores, m->nstores, m->phase, PHASES, m->patience->until))
		o.bytes = sys_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, 0, 0, 0) == 0 ? s.st_size : 0;
	return o;
}

/* True on all ranks when it is on all of them. What blocks comes right after: nobody enters it alone. */
static bool all_agree(struct meeting *m, bool mine)
{
	bool root = m->world->rank == ROOT;
	int64_t *all = root ? calloc((size_t)m->world->size, sizeof *all) : NULL;
	m->agreed = mine;
	if ((root && !all) || m->mpi->gather(GATHER, &m->agreed, all, sizeof m->agreed, ROOT) != 0 || !await(m, GATHER))
		return false;
	for (int64_t r = 0; root && r < m->world->size; r++)
		m->agreed &= all[r];
	free(all);
	return m->mpi->broadcast(OUTCOME, &m->agreed, sizeof m->agreed, ROOT) == 0 && await(m, OUTCOME) && m->agreed;
}

/* Every rank takes part in every write; only the root has bytes. */
static bool write_together(struct meeting *m, const struct outcome *o)
{
	bool root = m->world->rank == ROOT, good = all_agree(m, true);
	char path[512];
	draft_path(path, sizeof path);
	int fd = root ? sys_open(path, O_RDONLY | O_CLOEXEC, 0) : -1;
	uint8_t *piece = root ? malloc(PIECE) : NULL;
	good = good && m->mpi->file_open(o->path, config.log_hints ? config.log_hints : "") == 0;
	for (int64_t at = 0; good && at < o->bytes; at += PIECE) {
		int64_t n = o->bytes - at < PIECE ? o->bytes - at : PIECE;
		bool have = root && piece && sys_call(SYS_pread64, fd, (long)piece, n, at, 0, 0) == n;
		good = m->mpi->file_write_all(WRITE, at, piece, have ? n : 0) == 0 && await(m, WRITE) &&
		       (have || !root);
	}
	good = all_agree(m, good) && m->mpi->file_close() == 0;
	if (fd >= 0)
		sys_close(fd);
	if (good)
		free(piece);
	return good;
}

/* The root looks at what has become of it. */
static bool settle(struct meeting *m, const struct outcome *o, bool written)
{
	char path[1024];
	struct stat s = {0};
	draft_path(path, sizeof path);
	bool whole = written && sys_call(SYS_newfstatat, AT_FDCWD, (long)o->path, (long)&s, 0, 0, 0) == 0 &&
		     s.st_size == o->bytes;
	sys_unlink_at(AT_FDCWD, path);
	if (!whole) {
		note("%s: log not written by MPI-IO: the stores are kept in %s", o->path, session_world_directory());
		return false;
	}
	sys_call(SYS_fchmodat, AT_FDCWD, (long)o->path, 0400, 0, 0, 0);
	snprintf(path, sizeof path, "%.*s", (int)(strlen(o->path) - strlen(PARTIAL)), o->path);
	if (sys_rename(o->path, path) != 0)
		return false;
	for (size_t n = 0; n < m->nstores; n++)
		sys_unlink_at(AT_FDCWD, m->stores[n]);
	return true;
}

static bool finish(struct meeting *m)
{
	struct outcome *o = &m->outcome;
	bool root = m->world->rank == ROOT;
	if (root && together())
		*o = draft(m);
	else if (root)
		o->done = lead(m);
	else if (!deliver(m))
		return false;
	if (!tell(m))
		return false;
	if (o->bytes) {
		bool written = write_together(m, o);
		o->done = root && settle(m, o, written);
		if (!tell(m))
			return false;
	}
	if (o->done && m->parcel.size)
		session_drop_store();
	forget_stores(m);
	sys_remove_directory(session_world_directory());
	m->mpi->close();
	return true;
}

bool meet_by_messages(const struct mpi_backend *b, const struct life_world *world, bool has_store, struct patience *p)
{
	struct meeting *m = calloc(1, sizeof *m);
	if (!m)
		return false;
	*m = (struct meeting){.mpi = b, .world = world, .patience = p};
	bool all = !patience_given_up() && !patience_given_up_elsewhere(world->id) && gather(m, has_store);
	if (!all && world->rank == ROOT)
		finalize_not_all();
	if (!all || !finish(m))
		return false; /* an operation may be under way on its memory */
	free(m->parcel.at);
	free(m->all);
	free(m);
	return true;
}
