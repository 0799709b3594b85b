#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include "abandoned.h"
#include "clock.h"
#include "thread.h"
#include "communication.h"
#include "config.h"
#include "delivery.h"
#include "lock.h"
#include "self.h"
#include "store.h"
#include "sys.h"

/*
 * Written at the start by the one thread that there is; then by the only thread that has its turn to wake the process or to enter a
 * world (life.c); at last by the one that ends it.
 */
static struct {
	bool joined;
	bool first;  /* of its node */
	bool others; /* another user's process: the session's directory is closed to it */
	char elsewhere
		[256]; /* directory of this node's stores, when that of the session is on another node; "" = it is not */
	char store[512];    /* path of this process's store */
	char world[256];    /* directory of an MPI job's stores, "" = none */
	char alone[256];    /* directory of stores without session and job */
	bool alone_private; /* it is this user's alone, and goes with the last store */
	char host[65];
	int directory;    /* of the session, open from joining it until the store is made; 0 = it is not */
	uint64_t counter; /* at the epoch, until it is known whether it may be used; 0 = it is known */
} session AT_START;

static const char *temporary(void)
{
	return config.tmpdir && config.tmpdir[0] == '/' ? config.tmpdir : "/dev/shm";
}

static int open_others(void)
{
	return config.session_others && config.session_others[0] == '/' && strlen(config.session_others) < 300
		       ? sys_open_others(config.session_others)
		       : -1;
}

static bool is_anothers(void)
{
	int directory = open_others();
	if (directory >= 0)
		sys_close(directory);
	return session.others = directory >= 0;
}

bool session_join(void)
{
	if (!config.session || config.session[0] != '/' || strlen(config.session) > 400)
		return false;
	int directory = sys_open_private(config.session);
	session.directory = directory > 0 ? directory : 0;
	return session.joined =
		       directory >= 0 || is_anothers() ||
		       delivery_expected(session.elsewhere, sizeof session.elsewhere, temporary(), &session.first);
}

const char *session_host(void)
{
	struct utsname u;
	if (!session.host[0] && sys_call(SYS_uname, (long)&u, 0, 0, 0, 0, 0) == 0)
		memcpy(session.host, u.nodename, sizeof session.host - 1);
	return session.host;
}

bool session_is_elsewhere(void)
{
	return session.elsewhere[0];
}

bool session_first_of_node(void)
{
	return session.first;
}

struct epoch session_epoch(void)
{
	struct epoch e;
	if (session.joined && config.epoch && epoch_parse(&e, config.epoch, session_host()))
		return e;
	int mode = PR_TSC_ENABLE; /* asked now: a process that narrows its system calls may lose this one */
	sys_call(SYS_prctl, PR_GET_TSC, (long)&mode, 0, 0, 0, 0);
	e = epoch_now();
	session.counter = mode == PR_TSC_ENABLE ? e.counter : 0;
	e.counter = 0;
	return e;
}

void session_settle_counter(struct epoch *e)
{
	if (!session.counter)
		return;
	e->counter = epoch_counter_usable(sys_read_file) ? session.counter : 0;
	session.counter = 0;
	clock_start(e);
}

static const char *directory(void)
{
	if (session.elsewhere[0])
		return session.elsewhere;
	if (session.others)
		return config.session_others;
	return session.joined ? config.session : session.world[0] ? session.world : session.alone;
}

/*
 * Texts by hand: every process makes some as it starts, and what the library of C has for it is on pages that many a program has no
 * other use for. Begins with `at`; never beyond `end`, where a NUL is.
 */
static char *put_text(char *at, char *end, const char *text, size_t most)
{
	size_t n = strnlen(text, most);
	n = n < (size_t)(end - at) ? n : (size_t)(end - at);
	memcpy(at, text, n);
	return at + n;
}

static char *put_number(char *at, char *end, uint64_t v, unsigned base)
{
	char digits[24];
	char *first = digits + sizeof digits;
	do
		*--first = "0123456789abcdef"[v % base];
	while (v /= base);
	return put_text(at, end, first, (size_t)(digits + sizeof digits - first));
}

/* Where this user's stores without session and job are. */
static void name_alone(char *to, size_t size)
{
	char *at = to, *end = to + size - 1;
	at = put_text(at, end, temporary(), 180);
	at = put_text(at, end, "/iolens-", 8);
	at = put_number(at, end, geteuid(), 10);
	*at = '\0';
}

/* The last process to end removes the directory, maybe while another process makes a store in it. */
static int open_alone(void)
{
	name_alone(session.alone, sizeof session.alone);
	int dir = sys_open_private(session.alone);
	if (dir < 0 && sys_make_directory(session.alone, 0700) == 0)
		dir = sys_open_private(session.alone);
	session.alone_private = dir >= 0;
	if (dir >= 0)
		return dir;
	snprintf(session.alone, sizeof session.alone, "%.180s", temporary());
	return sys_open(session.alone, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

static int open_directory(void)
{
	int fd = -1, joined = session.directory;
	session.directory = 0;
	if (joined)
		return joined;
	if (!session.joined && !session.world[0])
		return open_alone();
	if (!session.others)
		fd = sys_open_private(directory());
	if (fd >= 0 || !session.joined)
		return fd;
	fd = open_others(); /* this process may have changed its user */
	session.others = session.others || fd >= 0;
	return fd;
}

/* directory/host.pid.time.store. */
static void name_store(void)
{
	char *at = session.store, *end = at + sizeof session.store - 1;
	at = put_text(at, end, directory(), 380);
	at = put_text(at, end, "/", 1);
	at = put_text(at, end, session_host(), 32);
	at = put_text(at, end, ".", 1);
	at = put_number(at, end, (uint64_t)sys_pid(), 10);
	at = put_text(at, end, ".", 1);
	at = put_number(at, end, (uint64_t)sys_monotonic(), 16);
	at = put_text(at, end, ".store", 6);
	*at = '\0';
}

static struct store_room room(void)
{
	return (struct store_room){(size_t)config.budget, config_trace_room(), communication_counted()};
}

enum making { LAY_DOWN, TAKE_LAID_DOWN, MAKE };

static bool make_in(int dir, enum making how, const struct store_owner *owner)
{
	struct store_room its = room();
	return how == LAY_DOWN ? store_lay_down(dir, session.store, &its, owner)
			       : store_make(dir, session.store, &its, owner, how == TAKE_LAID_DOWN);
}

/* A filter of system calls may refuse the process its number: its store would have another one's name, and stay for ever. */
static bool may_make(enum making how)
{
	return how == TAKE_LAID_DOWN || sys_pid() > 0;
}

static bool make_once(enum making how, const struct store_owner *owner)
{
	int dir = open_directory();
	if (dir < 0)
		return false;
	bool may = may_make(how);
	if (may && how != TAKE_LAID_DOWN)
		name_store();
	bool made = may && make_in(dir, how, owner);
	sys_close(dir);
	return made;
}

/* Of a node where `iolens run` is not the directory went with the store of the last process that ended. */
static bool make(enum making how, const struct store_owner *owner)
{
	enum { TRIES = 3 };
	if (session.elsewhere[0])
		sys_make_directory(session.elsewhere, 0700);
	for (int n = 1; !make_once(how, owner); n++)
		if (n == TRIES || sys_exists(directory()))
			return false;
	return true;
}

bool session_lay_down(const struct store_owner *owner)
{
	return make(LAY_DOWN, owner);
}

bool session_store(const struct store_owner *owner, bool laid_down)
{
	if (laid_down && make_once(TAKE_LAID_DOWN, owner))
		return true;
	/* One that is there and cannot be taken now keeps its name: it may be taken later, or its end can be recorded. */
	return !(laid_down && sys_exists(session.store)) && make(MAKE, owner);
}

struct retelling {
	const struct store_owner *owner;
	bool done;
};

static void retell(void *retelling)
{
	struct retelling *r = retelling;
	r->done = store_retell(session.store, &r->owner->process);
}

bool session_retell(const struct store_owner *owner)
{
	struct retelling r = {owner, false};
	alone_do_long(retell, &r);
	return r.done;
}

/*
 * None of them holds a process up. A forked child makes no logs: their names need the time zone, which the C library guards by a
 * lock that a thread of the parent may have held.
 */
void session_collect(enum session_moment moment)
{
	enum { MILLISECOND = 1000000 };
	char alone[sizeof session.alone];
	bool end = moment == SESSION_END;
	if (session.joined || session.world[0])
		return;
	name_alone(alone, sizeof alone);
	abandoned_collect(alone, end ? 32 : 2, (end ? 20 : 5) * MILLISECOND, moment != SESSION_FORKED);
}

static void leave_alone(void)
{
	if (session.alone_private)
		sys_remove_directory(session.alone); /* if it is empty */
}

static void move_store(void)
{
	char to[sizeof session.store];
	const char *name = strrchr(session.store, '/');
	if (!name)
		return;
	snprintf(to, sizeof to, "%.255s%.200s", session.world, name);
	if (sys_rename(session.store, to) == 0)
		memcpy(session.store, to, sizeof to);
	leave_alone();
}

static void name_world(uint64_t world)
{
	snprintf(session.world, sizeof session.world, "%.180s/iolens-%u-%016llx", temporary(), (unsigned)geteuid(),
		 (unsigned long long)world);
}

const char *session_meeting_directory(void)
{
	return sys_exists("/dev/shm") ? "/dev/shm" : temporary();
}

void session_meeting_path(uint64_t meeting, char *path, size_t room)
{
	snprintf(path, room, "%.180s/iolens-%u-%016llx.meeting", session_meeting_directory(), (unsigned)geteuid(),
		 (unsigned long long)meeting);
}

bool session_world_exists(uint64_t world)
{
	name_world(world);
	return sys_private(session.world);
}

/* Another thread may just be waking the process, which makes a store in the directory of before. */
void session_enter_world(uint64_t world)
{
	bool turn = self_take_turn();
	name_world(world);
	sys_make_directory(session.world, 0700);
	if (sys_private(session.world))
		move_store();
	else
		session.world[0] = '\0';
	if (turn)
		self_end_turn();
}

const char *session_world_directory(void)
{
	return session.world;
}

const char *session_store_path(void)
{
	return session.store;
}

void session_drop_store(void)
{
	sys_unlink_at(AT_FDCWD, session.store);
	leave_alone();
}

static void deliver(void *nothing)
{
	(void)nothing;
	delivery_of(session.elsewhere, session.store);
}

void session_deliver(void)
{
	if (session.elsewhere[0])
		alone_do_long(deliver, NULL);
}
