/*
 * A plugin for Slurm: srun, sbatch and salloc --iolens=on|off|trace, and what the site wants without that option.
 * Nothing of it can fail a job: what is missing leaves the job as it is. A line of plugstack.conf:
 *
 *	optional iolens.so library=PATH [config=PATH] [logs=DIRECTORY] [serial=yes] [default=off]
 */
#include <limits.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reason.h"

SPANK_PLUGIN(iolens, 1)

enum mode { MODE_SITE, MODE_ON, MODE_OFF, MODE_TRACE, MODES };

static const char *const modes[MODES] = {"", "on", "off", "trace"};

static struct {
	char library[PATH_MAX], config[PATH_MAX], logs[PATH_MAX], serial[8], usual[8];
	enum mode mode;
} site;

static const struct {
	const char *name;
	char *value;
	size_t room;
} arguments[] = {
	{"library=", site.library, sizeof site.library}, {"config=", site.config, sizeof site.config},
	{"logs=", site.logs, sizeof site.logs},          {"serial=", site.serial, sizeof site.serial},
	{"default=", site.usual, sizeof site.usual},
};

static void read_argument(const char *word)
{
	for (size_t n = 0; n < sizeof arguments / sizeof *arguments; n++) {
		size_t length = strlen(arguments[n].name);
		if (strncmp(word, arguments[n].name, length) == 0) {
			snprintf(arguments[n].value, arguments[n].room, "%s", word + length);
			return;
		}
	}
	slurm_info("iolens: %s: no such argument in plugstack.conf", word);
}

static int set_mode(int value, const char *text, int remote)
{
	(void)value;
	for (int m = MODE_ON; text && m < MODES; m++)
		if (strcmp(text, modes[m]) == 0) {
			site.mode = m;
			return 0;
		}
	if (remote)
		return 0;
	slurm_error("--iolens=%s: expected on, off or trace", text ? text : "");
	return -1;
}

static struct spank_option option = {
	"iolens", "on|off|trace", "observe what the job reads and writes; trace: every access", 1, 0, set_mode};

int slurm_spank_init(spank_t job, int argc, char **argv)
{
	for (int n = 0; n < argc; n++)
		read_argument(argv[n]);
	spank_option_register(job, &option);
	return 0;
}

/* ---- in a task, as its user, before its program starts ---- */

static const char *variable(spank_t job, const char *name, char *to, size_t room)
{
	return spank_getenv(job, name, to, (int)room) == ESPANK_SUCCESS && *to ? to : NULL;
}

/* What was preloaded without ours: the list is cut at blanks, too. */
static void take_out(const char *list, char *to, size_t room)
{
	size_t used = 0;
	*to = '\0';
	for (size_t n; *list; list += n + (list[n] != 0)) {
		n = strcspn(list, ": ");
		bool ours = n == strlen(site.library) && strncmp(list, site.library, n) == 0;
		if (n && !ours && used + n + 2 < room)
			used += (size_t)snprintf(to + used, room - used, "%s%.*s", used ? ":" : "", (int)n, list);
	}
}

static void preload(spank_t job, const char *list)
{
	if (*list)
		spank_setenv(job, "LD_PRELOAD", list, 1);
	else
		spank_unsetenv(job, "LD_PRELOAD");
}

static void turn_off(spank_t job, const char *others)
{
	spank_setenv(job, "IOLENS_DISABLE", "1", 1);
	preload(job, others);
}

static void turn_on(spank_t job, const char *others)
{
	char list[2 * PATH_MAX];
	snprintf(list, sizeof list, "%s%s%s", site.library, *others ? ":" : "", others);
	preload(job, list);
	if (*site.config)
		spank_setenv(job, "IOLENS_CONFIG_PATH", site.config, 0);
	if (*site.logs)
		spank_setenv(job, "IOLENS_LOGPATH", site.logs, 0);
	if (strcmp(site.serial, "yes") == 0)
		spank_setenv(job, "IOLENS_ENABLE_NONMPI", "1", 0);
	if (site.mode == MODE_TRACE)
		spank_setenv(job, "IOLENS_TRACE", "compact", 1);
	if (site.mode != MODE_SITE)
		spank_unsetenv(job, "IOLENS_DISABLE");
}

struct texts {
	char logs[PATH_MAX], user[64], home[PATH_MAX], folder[PATH_MAX], path[2 * PATH_MAX], set[16];
};

static bool describe(spank_t job, bool off, struct texts *t, struct reason_task *about)
{
	uint32_t number = 0;
	int argc = 0;
	char **argv = NULL;
	if (spank_get_item(job, S_JOB_ID, &number) != ESPANK_SUCCESS ||
	    spank_get_item(job, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || !argc)
		return false;
	*about = (struct reason_task){
		.program = argv[0],
		.path = variable(job, "PATH", t->path, sizeof t->path),
		.logs = variable(job, "IOLENS_LOGPATH", t->logs, sizeof t->logs),
		.user = variable(job, "SLURM_JOB_USER", t->user, sizeof t->user),
		.home = variable(job, "HOME", t->home, sizeof t->home),
		.config = variable(job, "XDG_CONFIG_HOME", t->folder, sizeof t->folder),
		.library = site.library,
		.job = number,
		.off = off,
		.disabled = variable(job, "IOLENS_DISABLE", t->set, sizeof t->set) != NULL,
	};
	return true;
}

/* One of the step's tasks says why it will have no log, where the log would be. */
static void say_why_not(spank_t job, const struct reason_task *about)
{
	char why[REASON_TEXT];
	uint32_t task = 1;
	if (spank_get_item(job, S_TASK_GLOBAL_ID, &task) == ESPANK_SUCCESS && task == 0 &&
	    reason_find(about, why, sizeof why))
		reason_leave(about, *site.logs && !about->logs ? site.logs : about->logs, why);
}

int slurm_spank_task_init(spank_t job, int argc, char **argv)
{
	char list[PATH_MAX] = "", others[PATH_MAX], session[PATH_MAX];
	struct texts texts;
	struct reason_task about;
	(void)argc, (void)argv;
	bool off = site.mode == MODE_OFF;
	if (!*site.library || (site.mode == MODE_SITE && strcmp(site.usual, "off") == 0))
		return 0;
	if (!off && variable(job, "IOLENS_SESSION", session, sizeof session))
		return 0; /* iolens run is around it, and does the same */
	spank_err_t got = spank_getenv(job, "LD_PRELOAD", list, sizeof list);
	if (got != ESPANK_SUCCESS && got != ESPANK_ENV_NOEXIST)
		return 0; /* too long for us */
	bool foreign = describe(job, off, &texts, &about) && reason_foreign(&about);
	take_out(list, others, sizeof others);
	if (off)
		turn_off(job, others);
	else if (foreign)
		preload(job, others);
	else if (reason_usable(site.library))
		turn_on(job, others);
	if (describe(job, off, &texts, &about)) /* as it is now */
		say_why_not(job, &about);
	return 0;
}
