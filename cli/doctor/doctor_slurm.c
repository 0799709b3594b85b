/* What Slurm's files say of iolens on this node. */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "site_file.h"

static bool find_configuration(char path[PATH_MAX])
{
	static const char *const places[] = {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf"};
	const char *given = getenv("SLURM_CONF");
	if (given && *given) {
		snprintf(path, PATH_MAX, "%s", given);
		return true;
	}
	for (size_t n = 0; n < sizeof places / sizeof *places; n++) {
		snprintf(path, PATH_MAX, "%s", places[n]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* ---- the plugin ---- */

struct plugin {
	struct doctor *d;
	bool found;
	char logs[SITE_TEXT];
};

static bool readable(struct doctor *d, const char *file, const char *what, const char *path)
{
	struct stat s;
	if (stat(path, &s) == 0 && s.st_mode & S_IROTH)
		return true;
	checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: %s%s: %s", file, what, path,
		   access(path, F_OK) == 0 ? "not for everybody to read: chmod a+r" : strerror(errno));
	return false;
}

static bool look_at_plugin(void *target, const char *file, char *line)
{
	struct plugin *p = target;
	struct doctor *d = p->d;
	char path[SITE_TEXT], value[SITE_TEXT], one[PATH_MAX], other[PATH_MAX];
	if (!strstr(line, "iolens-spank"))
		return true;
	p->found = true;
	size_t word = strcspn(line, " \t");
	const char *rest = line + word + strspn(line + word, " \t");
	snprintf(path, sizeof path, "%.*s", (int)strcspn(rest, " \t"), rest);
	bool good = *path != '/' || readable(d, file, "", path);
	if (strncasecmp(line, "required", 8) == 0)
		checks_add(&d->checks, CHECK_NOTE, "slurm",
			   "%s: required: without the plugin no job starts: say optional", file);
	if (!site_word(line, "library=", value)) {
		checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: no library=PATH: nothing is preloaded", file);
		good = false;
	} else if ((good = readable(d, file, "library=", value) && good) && *d->library && realpath(value, one) &&
		   realpath(d->library, other) && strcmp(one, other) != 0)
		checks_add(&d->checks, CHECK_NOTE, "slurm", "%s: library=%s is not this command's library, %s", file,
			   value, d->library);
	if (site_word(line, "config=", value))
		good = readable(d, file, "config=", value) && good;
	if (site_word(line, "logs=", p->logs) && access(p->logs, F_OK) != 0) {
		checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: logs=%s: %s", file, p->logs, strerror(errno));
		good = false;
	}
	if (good)
		checks_add(&d->checks, CHECK_OK, "slurm", "%s: the plugin, its library and directory of logs are there",
			   file);
	return true;
}

/* ---- the scripts ---- */

struct script {
	const char *key; /* of slurm.conf */
	enum check_result missing;
	const char *without;
};

static bool mentions_iolens(const char *path)
{
	char line[1024];
	bool found = strstr(path, "iolens") != NULL;
	FILE *in = fopen(path, "re");
	while (in && !found && fgets(line, sizeof line, in))
		found = strstr(line, "iolens") != NULL || strstr(line, "IOLENS") != NULL;
	if (in)
		fclose(in);
	return found;
}

/* site.conf beside the script: what it names is there, and the plugin's directory is the collector's or the area. */
static void check_site_conf(struct doctor *d, const char *script, const char *plugin_logs)
{
	char conf[PATH_MAX + 16], iolens[SITE_TEXT], logs[SITE_TEXT], spool[SITE_TEXT];
	const char *slash = strrchr(script, '/');
	snprintf(conf, sizeof conf, "%.*s/site.conf", (int)(slash - script), script);
	if (access(conf, R_OK) != 0) {
		checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: %s: %s: without it the script does nothing", script,
			   conf, strerror(errno));
		return;
	}
	if (!site_file_value(conf, "IOLENS", iolens) || access(iolens, X_OK) != 0)
		checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: IOLENS=%s: no program: name bin/iolens", conf,
			   iolens);
	if (!site_file_value(conf, "IOLENS_LOGPATH", logs) || access(logs, F_OK) != 0)
		checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: IOLENS_LOGPATH=%s: no such directory", conf, logs);
	bool spooled = site_file_value(conf, "SPOOL", spool) && *spool;
	if (spooled && access(spool, F_OK) != 0)
		checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: SPOOL=%s: no such directory", conf, spool);
	if (*plugin_logs && strcmp(plugin_logs, spooled ? spool : logs) != 0)
		checks_add(&d->checks, CHECK_PROBLEM, "slurm",
			   "%s: %s=%s, but the plugin has logs=%s: they must be the same", conf,
			   spooled ? "SPOOL" : "IOLENS_LOGPATH", spooled ? spool : logs, plugin_logs);
}

static void check_script(struct doctor *d, const char *configuration, const struct script *of, const char *plugin_logs)
{
	char value[SITE_TEXT], real[PATH_MAX];
	glob_t found;
	bool ours = false;
	if (!site_file_value(configuration, of->key, value) || glob(value, 0, NULL, &found) != 0) {
		checks_add(&d->checks, *value ? CHECK_PROBLEM : of->missing, "slurm", "%s: %s %s: %s", configuration,
			   of->key, *value ? value : "is not set", *value ? "not there" : of->without);
		return;
	}
	for (size_t n = 0; n < found.gl_pathc && !ours; n++) {
		struct stat s;
		const char *path = realpath(found.gl_pathv[n], real);
		if (!path || !mentions_iolens(path))
			continue;
		ours = true;
		if (stat(path, &s) != 0 || !(s.st_mode & 0100) || !(s.st_mode & 0400))
			checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: not executable: chmod 755", path);
		else if (s.st_mode & 0022 || s.st_uid != 0)
			checks_add(&d->checks, CHECK_PROBLEM, "slurm",
				   "%s: runs as root, and others can change it: chown root, chmod 755", path);
		else
			checks_add(&d->checks, CHECK_OK, "slurm", "%s=%s", of->key, found.gl_pathv[n]);
		check_site_conf(d, path, plugin_logs);
	}
	globfree(&found);
	if (!ours)
		checks_add(&d->checks, of->missing, "slurm", "%s: %s=%s does not call iolens: %s", configuration,
			   of->key, value, of->without);
}

void doctor_slurm(struct doctor *d)
{
	static const struct script prolog = {"Prolog", CHECK_NOTE, "directories of days are made by hand or by cron"};
	static const struct script epilog = {"Epilog", CHECK_PROBLEM,
					     "killed jobs leave stores, and nothing makes logs of them"};
	static const struct script task = {"TaskProlog", CHECK_PROBLEM,
					   "without it, and without the plugin, no job is observed"};
	char configuration[PATH_MAX], plugstack[SITE_TEXT];
	struct plugin p = {.d = d};
	if (!find_configuration(configuration)) {
		checks_add(&d->checks, CHECK_NOTE, "slurm", "no slurm.conf: neither SLURM_CONF nor /etc/slurm");
		return;
	}
	if (access(configuration, R_OK) != 0) {
		checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: %s", configuration, strerror(errno));
		return;
	}
	if (!site_file_value(configuration, "PlugStackConfig", plugstack))
		snprintf(plugstack, sizeof plugstack, "%.*s/plugstack.conf",
			 (int)(strrchr(configuration, '/') - configuration), configuration);
	site_file_read(plugstack, look_at_plugin, &p);
	if (!p.found)
		check_script(d, configuration, &task, "");
	check_script(d, configuration, &prolog, p.logs);
	check_script(d, configuration, &epilog, p.logs);
}
