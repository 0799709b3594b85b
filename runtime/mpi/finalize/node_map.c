#include "node_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "config.h"
#include "hash.h"
#include "index.h"
#include "lock.h"
#include "session.h"
#include "sys.h"

/* Ranks of a node in a test, 0 = no test. */
static int64_t apart(void)
{
	const char *told = config.finalize ? strstr(config.finalize, "-apart") : NULL;
	int64_t each = told && strncmp(told, "-apart=", 7) == 0 ? atoll(told + 7) : 1;
	return !told ? 0 : each > 0 ? each : 1;
}

enum { BOOT = 64 };

static void read_boot(void *text)
{
	if (sys_read_file("/proc/sys/kernel/random/boot_id", text, BOOT) < 0)
		*(char *)text = '\0';
}

uint64_t node_map_name(int64_t rank)
{
	char text[512] = "";
	struct stat s = {0};
	alone_do(read_boot, text);
	size_t n = strlen(text);
	sys_call(SYS_newfstatat, AT_FDCWD, (long)session_meeting_directory(), (long)&s, 0, 0, 0);
	snprintf(text + n, sizeof text - n, " %s %llu %llu %lld", session_host(), (unsigned long long)s.st_dev,
		 (unsigned long long)s.st_ino, (long long)(apart() ? rank / apart() : 0));
	uint64_t name = log_id(text);
	return name ? name : 1;
}

static bool find_leaders(struct node_map *p, const uint64_t *names, int64_t nprocs, uint64_t mine)
{
	struct index known = {0};
	bool good = true;
	for (int64_t rank = 0; good && rank < nprocs; rank++) {
		bool is_new = false;
		good = names[rank] && index_number(&known, names[rank], &is_new) != SIZE_MAX;
		if (good && is_new && (good = index_grow(&p->leader, (size_t)p->nodes, sizeof *p->leader)))
			p->leader[p->nodes++] = rank;
	}
	p->mine = (int64_t)index_find(&known, mine);
	index_free(&known);
	return good;
}

bool node_map_find(struct node_map *p, const uint64_t *names, int64_t nprocs, int64_t rank)
{
	*p = (struct node_map){0};
	if (!find_leaders(p, names, nprocs, names[rank]))
		return false;
	for (int64_t r = 0; r < nprocs; r++) {
		if (names[r] != names[rank])
			continue;
		if (!index_grow(&p->ranks, p->nranks, sizeof *p->ranks))
			return false;
		p->ranks[p->nranks++] = r;
	}
	return true;
}

void node_map_forget(struct node_map *p)
{
	log_free(p->leader);
	log_free(p->ranks);
	*p = (struct node_map){0};
}
