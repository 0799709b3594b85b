/* iolens collect: logs out of a directory that everybody can write to into one that only the site can. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"
#include "collector.h"
#include "shown.h"

enum { SHOWN = 20 }; /* names that are reported: users could fill a journal with more */

static bool set_group(void *target, const struct choice *c, char *text)
{
	struct collector *to = target;
	const struct group *g = getgrnam(text);
	to->has_group = g != NULL;
	to->group = g ? g->gr_gid : 0;
	return g != NULL;
}

static bool set_limit(void *target, const struct choice *c, char *text)
{
	static const char units[] = "KMGT";
	char *end;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	int bits = unit ? 10 * (int)(unit - units + 1) : 0;
	((struct collector *)target)->limit = n << bits;
	return *text >= '1' && *text <= '9' && !errno && n <= INT64_MAX >> bits && (!*end || (unit && !end[1]));
}

static const struct choice table[] = {
	{"group", "GROUP", set_group, "let GROUP read the logs, in addition to their owners",
	 .expect = "the name of a group"},
	{"limit", "SIZE", set_limit, "leave larger files where they are: 256M, 4G (1G)", .expect = "a size, as 256M"},
};

static const struct choices collect_choices = {
	.command = "collect",
	.before =
		"collect [OPTION...] SPOOL AREA\n"
		"\n"
		"Run as root. Moves the logs in the directory SPOOL, where every user may write, into "
		"AREA/YEAR/MONTH/DAY, where\n"
		"only the caller may. A log's owner can read it, not remove it. Other files (links, pipes, files with "
		"a second\n"
		"name elsewhere) stay, and a line names each.\n",
	.after = "Exit code 4 if something was left in SPOOL, 3 if a directory is unfit.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.arguments = "DIRECTORY",
};

struct pass {
	struct collector of;
	size_t collected, left, told;
	char failure[128]; /* of the area: the last one */
};

/* What is wrong with the area is so for many logs. */
static void tell(struct pass *p, const char *name, enum collected result, const char *why)
{
	bool again = result == COLLECT_FAILED && strcmp(p->failure, why) == 0;
	p->left++;
	if (again || p->told == SHOWN)
		return;
	p->told++;
	if (result == COLLECT_FAILED)
		snprintf(p->failure, sizeof p->failure, "%s", why);
	cli_fail(0, "collect: %s: %s", name, why);
}

static int collect_all(struct pass *p, const char *spool)
{
	DIR *dir = fdopendir(dup(p->of.spool));
	const char *why;
	if (!dir)
		return cli_fail(CLI_INPUT, "collect: %s: %s", spool, strerror(errno));
	for (struct dirent *e; (e = readdir(dir));) {
		if (!collector_wants(e->d_name))
			continue;
		enum collected result = collector_take(&p->of, e->d_name, &why);
		if (result == COLLECTED)
			p->collected++;
		else
			tell(p, e->d_name, result, why);
	}
	closedir(dir);
	if (p->left > p->told)
		cli_fail(0, "collect: and %zu more", p->left - p->told);
	shown_line(stdout, "%zu collected, %zu left in %s", p->collected, p->left, spool);
	return p->left ? CLI_PARTIAL : CLI_OK;
}

static int collect_main(int argc, char **argv)
{
	struct pass p = {.of = {.limit = INT64_C(1) << 30, .spool = -1, .area = -1}};
	int code, at = choices_parse(&collect_choices, argc, argv, &p.of, &code);
	if (at < 0)
		return code;
	if (argc - at != 2)
		return cli_fail(CLI_USAGE, "collect: give two directories, SPOOL and AREA");
	code = collector_open(&p.of, argv[at], argv[at + 1]);
	if (code == CLI_OK)
		code = collect_all(&p, argv[at]);
	collector_close(&p.of);
	return code;
}

const struct command collect_command = {
	.name = "collect",
	.main = collect_main,
	.group = GROUP_MAINTAIN,
	.place = 20,
	.about = "move logs from a spool of all users to a directory of root",
	.choices = &collect_choices,
};
