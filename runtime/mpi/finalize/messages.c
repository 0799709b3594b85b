/*
 * Ranks of several nodes make one log (docs/decisions/0011). On each node they meet as ranks of one node do; then the leaders
 * of the nodes talk to each other, over a communicator of our own: twice up and down a tree for what the log holds and where,
 * then the writing, then once more for the outcome.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "finalize.h"
#include "job_log.h"
#include "node.h"
#include "warn.h"
#include "node_map.h"
#include "session.h"
#include "store.h"
#include "sys.h"
#include "writers.h"

enum { PHASES = 8, LEVELS = 64 };
enum verdict { GO_ON, KEEP, DONE };

/* Before a survey. */
struct surveyed {
	int64_t lacking; /* ranks that could not make their store */
};

/* Before the decision. */
struct decided {
	int64_t verdict;
	uint64_t inode;
	int64_t changed;
	uint64_t path; /* bytes, behind it */
};

/* Before a share. */
struct made {
	uint64_t able;
	int64_t rounds;
};

struct rank_placed {
	int64_t verdict;
	uint64_t able;
	int64_t rounds;
	uint64_t at[JOIN_REGIONS];
};

/* Not on the stack: a message may come into it after this rank has left, and then it stays. */
struct meeting {
	const struct life_world *world;
	struct deadline *deadline;
	uint64_t name, *names; /* of this rank's node, of all */
	struct node_map node_map;
	struct tree tree;
	struct writers writers;
	struct assemble_job job;
	struct assemble_phase phase[PHASES];
	uint64_t begun; /* of the phase */
	char **stores;
	size_t nstores;
	struct join *join;
	char path[4096]; /* of the log, at the first leader */
	struct join_file file;
	struct log_bytes decision;
	struct surveyed surveyed;
	struct made made;
	struct rank_placed placed;
	uint64_t before[LEVELS][JOIN_REGIONS]; /* what stands before a node below, by level */
	bool written, done;
};

static bool is_first(const struct meeting *m)
{
	return m->tree.mine == 0;
}

static void clock_phase(struct meeting *m, const char *name)
{
	uint64_t now = clock_monotonic();
	if (m->job.nphases < PHASES)
		m->phase[m->job.nphases++] = (struct assemble_phase){name, (double)(now - m->begun) * 1e-9};
	m->begun = now;
}

static int level_of(const struct meeting *m, int64_t node)
{
	return __builtin_ctzll((uint64_t)(node - m->tree.mine));
}

/* ---- what the stores hold: up; what becomes of it: down ---- */

static bool add_survey(void *context, int64_t node, const void *from, size_t n)
{
	struct meeting *m = context;
	struct surveyed s;
	(void)node;
	if (n < sizeof s)
		return false;
	memcpy(&s, from, sizeof s);
	m->surveyed.lacking += s.lacking;
	if (join_survey_add(m->join, (const uint8_t *)from + sizeof s, n - sizeof s) < 0)
		join_fail(m->join, join_error(m->join)->message);
	return true;
}

/* A message of ours, and behind it one of the join. */
static bool put(struct log_bytes *out, const void *head, size_t n, const struct log_bytes *rest)
{
	out->used = 0;
	return log_bytes_add(out, head, n) >= 0 && log_bytes_add(out, rest->at, rest->used) >= 0;
}

static bool fill_survey(void *context, int64_t node, struct log_bytes *out)
{
	struct meeting *m = context;
	struct log_bytes survey = {0};
	(void)node;
	bool good = join_survey(m->join, &survey) >= 0 && put(out, &m->surveyed, sizeof m->surveyed, &survey);
	log_bytes_free(&survey);
	return good;
}

/* Why there is no log: what some place has said, or what went wrong here. */
static enum verdict keep_stores(const struct meeting *m)
{
	struct join_found f = join_found(m->join);
	struct log_error err = {0};
	if (f.failed)
		memcpy(err.message, f.why, sizeof err.message);
	job_log_failed(m->path, f.failed ? &err : join_error(m->join));
	return KEEP;
}

static enum verdict judge(struct meeting *m)
{
	struct join_found f = join_found(m->join);
	job_log_name(m->path, sizeof m->path);
	if (!f.failed && !f.stores && !f.lost)
		return DONE;
	if (!f.failed && !f.stores)
		join_fail(m->join, "no process left a readable store");
	else if (!f.failed && join_begin(m->join, m->path, &m->file) >= 0)
		return GO_ON;
	return keep_stores(m);
}

static bool fill_decision(void *context, int64_t node, struct log_bytes *out)
{
	struct meeting *m = context;
	(void)node;
	return put(out, m->decision.at, m->decision.used, &(struct log_bytes){0});
}

static bool decide(struct meeting *m)
{
	struct log_bytes decision = {0};
	struct decided d = {.verdict = judge(m)};
	if (d.verdict == GO_ON && join_decide(m->join, &decision) < 0)
		d.verdict = KEEP;
	d.inode = m->file.inode;
	d.changed = m->file.changed;
	d.path = strlen(m->file.path) + 1;
	bool good = put(&m->decision, &d, sizeof d, &(struct log_bytes){(uint8_t *)m->file.path, d.path, 0}) &&
		    log_bytes_add(&m->decision, decision.at, decision.used) >= 0;
	log_bytes_free(&decision);
	return good;
}

static bool take_decision(void *context, const void *from, size_t n)
{
	struct meeting *m = context;
	return put(&m->decision, from, n, &(struct log_bytes){0});
}

/* Takes the decision apart; false when it cannot be. */
static bool read_decision(struct meeting *m, enum verdict *verdict, size_t *at)
{
	struct decided d;
	if (m->decision.used < sizeof d)
		return false;
	memcpy(&d, m->decision.at, sizeof d);
	if (!d.path || d.path > sizeof m->file.path || d.path > m->decision.used - sizeof d)
		return false;
	m->file.inode = d.inode;
	m->file.changed = d.changed;
	memcpy(m->file.path, m->decision.at + sizeof d, d.path);
	m->file.path[d.path - 1] = '\0';
	*verdict = (enum verdict)d.verdict;
	*at = sizeof d + d.path;
	return true;
}

/* ---- what has been made: up; where it is to be: down ---- */

static bool is_collective(void)
{
	return config.finalize && strncmp(config.finalize, "mpiio", 5) == 0;
}

static bool add_share(void *context, int64_t node, const void *from, size_t n)
{
	struct meeting *m = context;
	struct made made;
	if (n < sizeof made)
		return false;
	memcpy(&made, from, sizeof made);
	m->made.able |= made.able;
	m->made.rounds = made.rounds > m->made.rounds ? made.rounds : m->made.rounds;
	memcpy(m->before[level_of(m, node)], join_sizes(m->join), sizeof m->before[0]);
	join_share_add(m->join, (const uint8_t *)from + sizeof made, n - sizeof made);
	return true;
}

static bool fill_share(void *context, int64_t node, struct log_bytes *out)
{
	struct meeting *m = context;
	struct log_bytes share = {0};
	(void)node;
	bool good = join_share(m->join, &share) >= 0 && put(out, &m->made, sizeof m->made, &share);
	log_bytes_free(&share);
	return good;
}

static enum verdict lay_out(struct meeting *m)
{
	if (!join_found(m->join).failed && !(m->made.able & 1) && !is_collective())
		join_fail(m->join, "its file cannot be opened a second time");
	if (!join_found(m->join).failed && join_lay_out(m->join, m->placed.at) >= 0)
		return GO_ON;
	return keep_stores(m);
}

static bool fill_place(void *context, int64_t node, struct log_bytes *out)
{
	const struct meeting *m = context;
	struct rank_placed p = m->placed;
	for (int r = 0; r < JOIN_REGIONS; r++)
		p.at[r] += m->before[level_of(m, node)][r];
	return put(out, &p, sizeof p, &(struct log_bytes){0});
}

static bool take_place(void *context, const void *from, size_t n)
{
	struct meeting *m = context;
	if (n != sizeof m->placed)
		return false;
	memcpy(&m->placed, from, n);
	return true;
}

/* ---- the steps of a leader; false: a node did not answer in time ---- */

static void take_part(struct meeting *m)
{
	struct join_node place = {
		.number = m->node_map.mine,
		.nprocs = m->world->size,
		.ranks = m->node_map.ranks,
		.nranks = m->node_map.nranks,
	};
	bool all = node_await_all(m->deadline);
	m->surveyed.lacking = node_lacking();
	m->stores = node_stores(&m->nstores);
	clock_phase(m, "wait");
	place.stores = (const char *const *)m->stores;
	place.nstores = m->stores ? m->nstores : 0;
	m->job.epoch = *life_epoch();
	m->job.id = life_job();
	m->job.ended = sys_nanoseconds(CLOCK_REALTIME);
	m->job.phases = m->phase;
	m->job.first = m->nstores > 1 && m->stores ? m->stores[0] : NULL;
	m->job.deadline = (int64_t)m->deadline->until;
	if (life_is_rank()) {
		m->job.own = session_store_path();
		m->job.memory = store_memory(&m->job.size);
	}
	join_open(&m->join, &m->job, &place);
	if (m->join && (!all || !m->stores))
		join_fail(m->join, "not all ranks of a node have come");
	m->begun = clock_monotonic();
}

static bool agree(struct meeting *m, enum verdict *verdict)
{
	size_t at;
	if (!m->join || !tree_up(&m->tree, add_survey, fill_survey, m))
		return false;
	if (is_first(m) && !decide(m))
		return false;
	if (!tree_down(&m->tree, take_decision, fill_decision, m) || !read_decision(m, verdict, &at))
		return false;
	clock_phase(m, "agree");
	if (*verdict != GO_ON)
		return true;
	writers_choose(&m->writers, config.log_hints, m->tree.nodes, m->tree.mine);
	if (!is_collective())
		writers_open(&m->writers, &m->file);
	join_make(m->join, m->decision.at + at, m->decision.used - at);
	m->made = (struct made){m->writers.able, collective_rounds(m->join)};
	m->begun = clock_monotonic();
	return true;
}

static bool arrange(struct meeting *m, enum verdict *verdict)
{
	if (!tree_up(&m->tree, add_share, fill_share, m))
		return false;
	clock_phase(m, "gather");
	if (is_first(m))
		m->placed.verdict = lay_out(m);
	if (is_first(m)) {
		m->placed.able = m->made.able;
		m->placed.rounds = m->made.rounds;
	}
	if (!tree_down(&m->tree, take_place, fill_place, m))
		return false;
	*verdict = (enum verdict)m->placed.verdict;
	m->writers.able = m->placed.able;
	for (int r = 0; is_first(m) && r < JOIN_REGIONS; r++)
		m->writers.log += join_sizes(m->join)[r];
	m->writers.late = job_log_late;
	clock_phase(m, "shared");
	return true;
}

static bool write_regions(struct meeting *m)
{
	bool good;
	m->written = true;
	if (is_collective())
		good = collective_write(&m->tree, m->file.path, config.log_hints ? config.log_hints : "",
					m->placed.rounds, m->join, m->placed.at, &m->written);
	else
		good = writers_write(&m->writers, &m->tree, m->join, m->placed.at, &m->written);
	writers_close(&m->writers, &m->written);
	good = good && tree_all(&m->tree, &m->written);
	clock_phase(m, "write");
	return good;
}

/* The first leader, when all is written. */
static bool finish(struct meeting *m)
{
	struct join_found f = join_found(m->join);
	if (!m->written) {
		job_log_failed(m->path, &(struct log_error){.message = "a node could not write its part"});
		return false;
	}
	if (join_finish(m->join) < 0) {
		job_log_failed(m->path, join_error(m->join));
		return false;
	}
	if (m->surveyed.lacking)
		warn("%lld of %lld ranks could not make their store (no room, or not allowed; IOLENS_TMPDIR tells "
		     "where): the log is without them",
		     (long long)m->surveyed.lacking, (long long)m->world->size);
	if (f.lost)
		job_log_incomplete(m->path);
	return !f.lost;
}

static bool lead(struct meeting *m)
{
	enum verdict verdict;
	take_part(m);
	if (!agree(m, &verdict) || (verdict == GO_ON && !arrange(m, &verdict)))
		return false;
	if (verdict != GO_ON) {
		m->done = verdict == DONE;
		return true;
	}
	if (!write_regions(m))
		return false;
	m->done = is_first(m) && finish(m);
	return tree_all_hear(&m->tree, &m->done);
}

/* ---- all ranks ---- */

/* False, for all ranks alike, when one of them cannot meet its node. */
static bool find_nodes(struct meeting *m)
{
	const struct mpi_backend *mpi = m->tree.mpi;
	m->names = calloc((size_t)m->world->size, sizeof *m->names);
	if (!m->names || mpi->gather(TREE_GATHER, &m->name, m->names, sizeof m->name) != 0)
		return false;
	if (!tree_await_begun(&m->tree, TREE_OPEN, m->begun) || mpi->open_end() != 0)
		return false;
	clock_phase(m, "open");
	if (!tree_await(&m->tree, TREE_GATHER))
		return false;
	bool good = node_map_find(&m->node_map, m->names, m->world->size, m->world->rank);
	free(m->names);
	m->tree.leader = m->node_map.leader;
	m->tree.nodes = m->node_map.nodes;
	m->tree.mine = m->node_map.mine;
	clock_phase(m, "places");
	return good;
}

/* The name stays 0 when this rank cannot meet its node. */
static void enter(struct meeting *m, bool has_store)
{
	uint64_t name = node_map_name(m->world->rank);
	if (!node_enter(m->world->meeting ^ name))
		return;
	if (has_store && !meet_bring_store(m->world, NULL)) {
		node_abandon();
		return;
	}
	if (life_storeless())
		node_lack_store();
	m->name = name;
}

static bool meet(struct meeting *m, bool has_store)
{
	m->begun = clock_monotonic();
	if (m->tree.mpi->open_begin(TREE_OPEN) != 0)
		return false;
	enter(m, has_store);
	if (!find_nodes(m)) {
		if (m->name)
			node_abandon();
		return false;
	}
	if (node_come((int64_t)m->node_map.nranks))
		node_call();
	bool answered = true;
	if (m->node_map.leader[m->node_map.mine] == m->world->rank) {
		answered = lead(m);
		node_settle(m->done ? NODE_MADE : answered ? NODE_KEPT : NODE_LEFT);
		job_log_settle((const char *const *)m->stores, m->stores ? m->nstores : 0, m->done);
		sys_remove_directory(session_world_directory());
	} else {
		bool first;
		answered = node_await(m->deadline, &first) != NODE_LEFT;
	}
	node_leave();
	return answered;
}

static void forget(struct meeting *m)
{
	node_forget_stores(m->stores, m->nstores);
	join_close(m->join);
	node_map_forget(&m->node_map);
	log_bytes_free(&m->decision);
	free(m);
}

bool meet_by_messages(const struct mpi_backend *b, const struct life_world *world, bool has_store, struct deadline *p)
{
	struct meeting *m = calloc(1, sizeof *m);
	if (!m)
		return false;
	*m = (struct meeting){.world = world, .deadline = p, .tree = {.mpi = b, .deadline = p}};
	bool all = !deadline_given_up() && !deadline_given_up_elsewhere(world->id) && meet(m, has_store);
	if (!all) {
		join_give_up(m->join);
		if (world->rank == 0)
			job_log_not_all();
		return false; /* an operation may be under way on its memory */
	}
	b->close();
	forget(m);
	return true;
}
