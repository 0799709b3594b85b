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
	static const char *const places[] = {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf",
					     "/run/slurm/conf/slurm.conf"};
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

static void find_plugstack(const char *configuration, char plugstack[PATH_MAX + 16])
{
	char named[SITE_TEXT];
	const char *slash = strrchr(configuration, '/');
	if (site_file_value(configuration, "PlugStackConfig", named))
		snprintf(plugstack, PATH_MAX + 16, "%s", named);
	else
		snprintf(plugstack, PATH_MAX + 16, "%.*splugstack.conf", slash ? (int)(slash + 1 - configuration) : 0,
			 configuration);
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
		   access(path, F_OK) == 0 ? "not readable by all users: chmod a+r" : strerror(errno));
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
			   "%s: required: without the plugin no job starts: write optional", file);
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

/* Next to a script that the line calls by its path. */
static bool look_for_site_conf(void *target, const char *file, char *line)
{
	char *conf = target, found[PATH_MAX + 16];
	for (const char *at = line; (at = strchr(at, '/')); at += strcspn(at, " \t;\"'&|")) {
		int n = (int)strcspn(at, " \t;\"'&|");
		while (n > 0 && at[n - 1] != '/')
			n--;
		snprintf(found, sizeof found, "%.*ssite.conf", n, at);
		if (access(found, R_OK) == 0) {
			snprintf(conf, sizeof found, "%s", found);
			return false;
		}
	}
	return true;
}

/* In the script's folder; of a site's own script in that of the one that it calls. */
static void name_site_conf(const char *script, char conf[PATH_MAX + 16])
{
	const char *slash = strrchr(script, '/');
	snprintf(conf, PATH_MAX + 16, "%.*s/site.conf", (int)(slash - script), script);
	if (access(conf, F_OK) != 0)
		site_file_read(script, look_for_site_conf, conf);
}

/* What it names is there, and the plugin's directory is the collector's or the area. */
static void check_site_conf(struct doctor *d, const char *script, const char *plugin_logs)
{
	char conf[PATH_MAX + 16], iolens[SITE_TEXT], logs[SITE_TEXT], spool[SITE_TEXT];
	name_site_conf(script, conf);
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
				   "%s: runs as root, and other users can change it: chown root, chmod 755", path);
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
	static const struct script epilog = {"Epilog", CHECK_PROBLEM, "killed jobs leave stores, and get no logs"};
	static const struct script task = {"TaskProlog", CHECK_PROBLEM,
					   "without it, and without the plugin, no job is observed"};
	char configuration[PATH_MAX], plugstack[PATH_MAX + 16];
	struct plugin p = {.d = d};
	if (!find_configuration(configuration)) {
		checks_add(&d->checks, CHECK_NOTE, "slurm", "no slurm.conf: neither SLURM_CONF nor /etc/slurm");
		return;
	}
	if (access(configuration, R_OK) != 0) {
		checks_add(&d->checks, CHECK_PROBLEM, "slurm", "%s: %s", configuration, strerror(errno));
		return;
	}
	find_plugstack(configuration, plugstack);
	site_file_read(plugstack, look_at_plugin, &p);
	if (!p.found)
		check_script(d, configuration, &task, "");
	check_script(d, configuration, &prolog, p.logs);
	check_script(d, configuration, &epilog, p.logs);
}

/* ---- where logs are ---- */

static bool add_plugin_logs(void *target, const char *file, char *line)
{
	char logs[SITE_TEXT];
	if (strstr(line, "iolens-spank") && site_word(line, "logs=", logs))
		doctor_add_place(target, logs, PLACE_LOGS);
	return true;
}

static void add_script_logs(struct doctor *d, const char *configuration, const char *key)
{
	char value[SITE_TEXT], spool[SITE_TEXT], real[PATH_MAX], conf[PATH_MAX + 16];
	glob_t found;
	if (!site_file_value(configuration, key, value) || glob(value, 0, NULL, &found) != 0)
		return;
	for (size_t n = 0; n < found.gl_pathc; n++) {
		if (!realpath(found.gl_pathv[n], real) || !mentions_iolens(real))
			continue;
		name_site_conf(real, conf);
		bool spooled = site_file_value(conf, "SPOOL", spool) && *spool;
		if (site_file_value(conf, "IOLENS_LOGPATH", value))
			doctor_add_place(d, value, spooled ? PLACE_AREA : PLACE_LOGS);
		if (spooled)
			doctor_add_place(d, spool, PLACE_SPOOL);
	}
	globfree(&found);
}

void doctor_slurm_places(struct doctor *d)
{
	static const char *const scripts[] = {"Epilog", "Prolog", "TaskProlog"};
	char configuration[PATH_MAX], plugstack[PATH_MAX + 16];
	if (!find_configuration(configuration))
		return;
	for (size_t n = 0; n < sizeof scripts / sizeof *scripts; n++)
		add_script_logs(d, configuration, scripts[n]);
	find_plugstack(configuration, plugstack);
	site_file_read(plugstack, add_plugin_logs, d);
}
