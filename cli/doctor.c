/* iolens doctor: whether observing works here, and why a job has left no log. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "cli.h"
#include "doctor.h"

struct options {
	bool json, site;
	int64_t job;
	const char *nodes, *through;
};

static const struct choice table[] = {
	{"job", "N", choice_job, "also: what the scheduler's job N left, and why it has no log",
	 .at = offsetof(struct options, job), .expect = "the number of a job"},
	{"site", NULL, choice_flag,
	 "also: the site's installation: which users may change it, MPIs, directories of logs, Slurm, modules, systemd",
	 .at = offsetof(struct options, site)},
	{"nodes", "NAME,...", choice_text, "also: whether these nodes have the same command and library, by ssh",
	 .at = offsetof(struct options, nodes)},
	{"through", "COMMAND", choice_text, "with --nodes: instead of ssh; %h is the node: srun -Q -N1 -n1 -w %h",
	 .at = offsetof(struct options, through)},
	{"json", NULL, choice_flag, "as JSON", .at = offsetof(struct options, json)},
};

static const struct choices doctor_choices = {
	.command = "doctor",
	.runs_command = true,
	.before = "doctor [OPTION...] [[--] COMMAND]\n"
		  "\n"
		  "Checks what observing needs: the library, by a trial; settings and their origin; the directories "
		  "of stores and\n"
		  "logs; this node. It does not run COMMAND, but checks whether COMMAND can load the "
		  "library, and whether settings exclude it.\n",
	.after = "Run it where the job runs, with the job's environment. Exit code 1 if there is a problem.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
};

static int doctor_main(int argc, char **argv)
{
	struct options o = {0};
	static struct doctor d;
	int code, at = choices_parse(&doctor_choices, argc, argv, &o, &code);
	if (at < 0)
		return code;
	if (o.through && !o.nodes)
		return cli_fail(CLI_USAGE, "doctor: --through goes with --nodes");
	doctor_installation(&d);
	if (o.site || o.job)
		doctor_places(&d);
	if (o.site)
		doctor_site(&d);
	if (o.nodes)
		doctor_nodes(&d, o.nodes, o.through ? o.through : "ssh -o BatchMode=yes -o ConnectTimeout=10");
	if (at < argc)
		doctor_program(&d, argv[at]);
	if (o.job)
		doctor_job(&d, o.job);
	checks_print(&d.checks, o.json);
	code = d.checks.of[CHECK_PROBLEM] ? CLI_FINDINGS : CLI_OK;
	checks_free(&d.checks);
	return code;
}

const struct command doctor_command = {
	.name = "doctor",
	.main = doctor_main,
	.group = GROUP_OBSERVE,
	.place = 40,
	.about = "whether observing works here, and why a job has left no log",
	.choices = &doctor_choices,
};
