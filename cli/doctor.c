/* iolens doctor: whether observing works here, and why a job has left no log. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "cli.h"
#include "doctor.h"

struct options {
	bool json;
	int64_t job;
};

static bool set_job(void *target, const struct choice *c, char *text)
{
	char *end;
	int64_t job = strtoll(text, &end, 10);
	((struct options *)target)->job = job;
	return *text >= '0' && *text <= '9' && !*end && job > 0;
}

static const struct choice table[] = {
	{"job", "N", set_job, "also: what there is of the scheduler's job N, and why it has no log",
	 .expect = "the number of a job"},
	{"json", NULL, choice_flag, "as JSON", .at = offsetof(struct options, json)},
};

const struct choices doctor_choices = {
	.command = "doctor",
	.runs_command = true,
	.before = "doctor [OPTION...] [[--] COMMAND]\n"
		  "\n"
		  "Checks what observing needs: the library, by a trial; settings and where they come from; the "
		  "directories of\n"
		  "stores and logs; this node. COMMAND is examined, not run: can the library be loaded with it, and do "
		  "the\n"
		  "settings leave it out?\n",
	.after = "Run it where the job runs, with the job's environment. Exit code 1 if there is a problem.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
};

int doctor_main(int argc, char **argv)
{
	struct options o = {0};
	static struct doctor d;
	int code, at = choices_parse(&doctor_choices, argc, argv, &o, &code);
	if (at < 0)
		return code;
	doctor_installation(&d);
	if (at < argc)
		doctor_program(&d, argv[at]);
	if (o.job)
		doctor_job(&d, o.job);
	checks_print(&d.checks, o.json);
	code = d.checks.of[CHECK_PROBLEM] ? CLI_FINDINGS : CLI_OK;
	checks_free(&d.checks);
	return code;
}
