#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "config.h"
#include "delivery.h"
#include "store.h"
#include "sys.h"

static struct {
	bool joined;
	char elsewhere
		[256]; /* directory of this node's stores, when that of the session is on another node; "" = it is not */
	char store[512]; /* path of this process's store */
	char world[256]; /* directory of an MPI job's stores, "" = none */
	char host[65];
} session;

static const char *temporary(void)
{
	return config.tmpdir && config.tmpdir[0] == '/' ? config.tmpdir : "/dev/shm";
}

bool session_join(void)
{
	if (!config.session || config.session[0] != '/' || strlen(config.session) > 400)
		return false;
	return session.joined = sys_private(config.session) ||
				delivery_expected(session.elsewhere, sizeof session.elsewhere, temporary());
}

const char *session_host(void)
{
	struct utsname u;
	if (!session.host[0] && uname(&u) == 0)
		memcpy(session.host, u.nodename, sizeof session.host - 1);
	return session.host;
}

struct epoch session_epoch(void)
{
	struct epoch e;
	if (session.joined && config.epoch && epoch_parse(&e, config.epoch, session_host()))
		return e;
	e = epoch_now();
	e.counter = epoch_counter_usable() ? e.counter : 0;
	return e;
}

static const char *directory(void)
{
	if (session.elsewhere[0])
		return session.elsewhere;
	return session.joined ? config.session : session.world[0] ? session.world : temporary();
}

bool session_store(void)
{
	char name[128];
	snprintf(name, sizeof name, "%.32s.%d.%llx.store", session_host(), sys_pid(),
		 (unsigned long long)clock_monotonic());
	if (session.elsewhere[0])
		sys_make_directory(session.elsewhere, 0700); /* it went with the store of the last process that ended */
	int dir = session.joined || session.world[0] ? sys_open_private(directory())
						     : sys_open(directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir < 0)
		return false;
	snprintf(session.store, sizeof session.store, "%.380s/%s", directory(), name);
	bool made = store_make(dir, name, (size_t)config.budget);
	sys_close(dir);
	return made;
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

void session_enter_world(uint64_t world)
{
	name_world(world);
	sys_make_directory(session.world, 0700);
	if (sys_private(session.world))
		move_store();
	else
		session.world[0] = '\0';
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
}

void session_deliver(void)
{
	if (session.elsewhere[0])
		delivery_of(session.elsewhere);
}
