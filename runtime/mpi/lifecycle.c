#include "lifecycle.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "finalize.h"
#include "life.h"
#include "load.h"
#include "lock.h"
#include "own_stack.h"
#include "readable.h"
#include "warn.h"
#include "deadline.h"
#include "self.h"
#include "session.h"
#include "store.h"
#include "sys.h"
#include "world.h"

extern char **environ;

__thread uintptr_t mpi_outermost;
__thread uintptr_t mpi_caller;

enum begun { NOT, BY_SESSION, BY_INIT }; /* BY_SESSION: MPI_Session_init alone, there is no MPI_COMM_WORLD */

/*
 * `begun` is atomic: several threads may begin sessions at once, and only the first joins. The others are written by this one
 * thread, and at the end by the one in MPI_Finalize or exit.
 */
static struct {
	enum begun begun;
	bool ended;
	int pid; /* of the process that began MPI */
	struct life_world world;
} mpi;

/* What the launcher has told an MPI that we have no backend for. */
static int from_environment(const char *const *names)
{
	for (; *names; names++) {
		char value[16];
		if (readable_variable(environ, *names, value, sizeof value))
			return atoi(value);
	}
	return 0;
}

static void ask_launcher(int *size, int *rank)
{
	static const char *const sizes[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", NULL};
	static const char *const ranks[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", NULL};
	*size = from_environment(sizes);
	*size = *size > 0 ? *size : 1;
	*rank = from_environment(ranks);
}

static void keep(const char *why)
{
	if (session_world_directory()[0])
		warn("the ranks' stores are kept in %s (%s): `iolens recover %s` makes the log",
		     session_world_directory(), why, session_world_directory());
}

static enum begun begun(void)
{
	return __atomic_load_n(&mpi.begun, __ATOMIC_ACQUIRE);
}

static bool deferred(void)
{
	return config.finalize && config.finalize[0] == 'd';
}

/* ---- what opens files: other threads of the program may run ---- */

struct place {
	int size;
	uint64_t id, meeting; /* of the world; 0 = to be found */
	bool exists;
};

static void find_world(void *place)
{
	struct place *p = place;
	bool known = p->id;
	p->id = known ? p->id : mpi_world_id(environ, p->size);
	p->meeting = known ? mpi.world.meeting : mpi_meeting_id(environ, p->id);
}

static void find_meeting(void *place)
{
	struct place *p = place;
	find_world(p);
	p->exists = session_world_exists(p->meeting);
}

static void enter_early(void *place)
{
	find_world(place);
	session_enter_world(((struct place *)place)->meeting);
}

static void enter_world(void *place)
{
	(void)place;
	life_join_world(&mpi.world);
}

/* A rank that must not be observed still answers when others of its job on this node are: they would wait for it. */
static bool others_wait(void)
{
	int size, rank;
	ask_launcher(&size, &rank);
	struct place p = {.size = size};
	if (size > 1)
		alone_do_long(find_meeting, &p);
	if (!p.exists)
		return false;
	mpi.world = (struct life_world){
		.size = size, .rank = rank, .local_size = mpi_local_size(environ, size), .meeting = p.meeting};
	return mpi_load();
}

/* ---- programs of sessions alone: a session may follow the last one, so that the log is made when the ranks end ---- */

static bool makes_log_at_exit(void)
{
	return begun() == BY_SESSION && !life_in_session() && !deferred() && mpi_backend() &&
	       finalize_possible_without_mpi(&mpi.world);
}

static void leave(void *has_store)
{
	finalize_without_mpi(&mpi.world, has_store);
}

static void on_rank_end(void)
{
	if (makes_log_at_exit())
		own_stack_call(OWN_STACK_LOG, leave, &mpi);
}

/* A rank without a store is not waited for, but counted. */
static void leave_without_store(void)
{
	if ((!life_forbidden() || others_wait()) && makes_log_at_exit())
		own_stack_call(OWN_STACK_LOG, leave, NULL);
}

/* The program ends, and its ranks have not met: one of them says where their data is. */
static void at_exit(int status, void *nothing)
{
	(void)status, (void)nothing;
	deadline_forget();
	if (!begun() || mpi.ended || life_in_session() || sys_pid() != mpi.pid)
		return;
	if (!life_is_rank() && begun() == BY_SESSION)
		leave_without_store();
	else if (life_is_rank() && mpi.world.local_rank == 0 && !makes_log_at_exit())
		keep("no MPI_Finalize");
}

static void watch_end(void)
{
	mpi.pid = sys_pid();
	life_on_rank_end = on_rank_end;
	on_exit(at_exit, NULL);
}

static void join(const void *session, bool fortran)
{
	int size = 1, rank = 0;
	bool spawned = false;
	uint64_t gate = self_work();
	const struct mpi_backend *b = mpi_load();
	int code = !b        ? -1
		   : session ? b->session_world(session, fortran, &size, &rank)
			     : b->world(&size, &rank, &spawned);
	if (code)
		ask_launcher(&size, &rank);
	struct place place = {.size = size, .id = size > 1 ? mpi.world.id : 0};
	alone_do_long(find_world, &place);
	/* Now: a program may clear its environment. */
	mpi.world = (struct life_world){
		.size = size,
		.rank = rank,
		.local_size = mpi_local_size(environ, size),
		.local_rank = mpi_local_rank(environ),
		.id = place.id,
		.meeting = place.meeting,
		.mpi = b ? b->name : "",
	};
	self.gate = gate;
	alone_do_long(enter_world, NULL);
	watch_end();
}

void mpi_beginning(void)
{
	int size, rank;
	if (begun() || mpi.world.id || life_forbidden() || life_in_session())
		return;
	ask_launcher(&size, &rank);
	if (size < 2 || mpi_is_spawned(environ))
		return;
	struct place place = {.size = size};
	alone_do_long(enter_early, &place);
	mpi.world.id = place.id;
	mpi.world.meeting = place.meeting;
}

void mpi_begun(void)
{
	if (!life_behind() && __atomic_exchange_n(&mpi.begun, BY_INIT, __ATOMIC_ACQ_REL) == NOT && !life_forbidden())
		join(NULL, false);
}

void mpi_session_begun(const void *session, bool fortran)
{
	enum begun was = NOT;
	if (life_behind() ||
	    !__atomic_compare_exchange_n(&mpi.begun, &was, BY_SESSION, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	if (life_forbidden())
		watch_end();
	else
		join(session, fortran);
}

static void keep_stores(const char *why)
{
	if (mpi.world.rank == 0)
		keep(why);
}

/* Under `iolens run` the log is made from the stores when all is over: nothing to do here. */
static bool has_nothing_to_say(enum life_keeping keeping)
{
	return keeping == LIFE_SESSION || (keeping == LIFE_NONE && life_in_session()) ||
	       (life_forbidden() && !others_wait());
}

void mpi_ending(void)
{
	if (!begun() || mpi.ended)
		return;
	mpi.ended = true;
	enum life_keeping keeping = life_leave_world();
	uint64_t gate = self_work();
	bool nothing = has_nothing_to_say(keeping);
	const struct mpi_backend *b = mpi_backend();
	if (nothing || begun() == BY_SESSION)
		;
	else if (!b || deferred())
		keep_stores(b ? "IOLENS_FINALIZE=deferred" : mpi_load_failure());
	else
		finalize_world(b, &mpi.world, keeping == LIFE_STORE);
	self.gate = keeping == LIFE_STORE ? SELF_NEW : gate;
}

void mpi_aborting(int code)
{
	if (!begun() || mpi.ended)
		return;
	life_end(STATE_END_ABORT, code);
	if (!life_in_session() && life_is_rank())
		keep("MPI_Abort");
}
