#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "doctor.h"
#include "site_file.h"
#include "units.h"

/* ---- what everybody's programs load ---- */

/* Who can change a file, or any directory above it, decides what every program of everybody does. */
static void check_owners(struct doctor *d, const char *path)
{
	char above[PATH_MAX];
	struct stat s;
	snprintf(above, sizeof above, "%s", path);
	for (char *slash; *above; *slash = '\0') {
		if (stat(above, &s) == 0) {
			bool sticky = S_ISDIR(s.st_mode) && s.st_mode & S_ISVTX;
			if (s.st_uid != 0)
				checks_add(&d->checks, CHECK_PROBLEM, "files",
					   "%s: user %u can change what all programs load: chown root", above,
					   (unsigned)s.st_uid);
			else if (s.st_mode & (S_IWOTH | S_IWGRP) && !sticky)
				checks_add(&d->checks, CHECK_PROBLEM, "files",
					   "%s: other users can change what all programs load: chmod go-w", above);
			if (S_ISDIR(s.st_mode) && (s.st_mode & 0001) == 0)
				checks_add(&d->checks, CHECK_PROBLEM, "files",
					   "%s: not all users can enter it: chmod a+x", above);
		}
		if (!(slash = strrchr(above, '/')) || slash == above)
			break;
	}
}

static void check_files(struct doctor *d)
{
	glob_t found;
	char pattern[DOCTOR_PATH + 32];
	struct stat s;
	size_t before = d->checks.of[CHECK_PROBLEM];
	if (!*d->library)
		return;
	check_owners(d, d->library);
	snprintf(pattern, sizeof pattern, "%.*s/libiolens*.so", (int)(strrchr(d->library, '/') - d->library),
		 d->library);
	bool any = glob(pattern, 0, NULL, &found) == 0;
	for (size_t n = 0; any && n < found.gl_pathc; n++)
		if (stat(found.gl_pathv[n], &s) == 0 &&
		    ((s.st_mode & 0444) != 0444 || s.st_mode & 0022 || s.st_uid != 0))
			checks_add(&d->checks, CHECK_PROBLEM, "files",
				   "%s: must belong to root, and be readable by all users: chown root, chmod 644",
				   found.gl_pathv[n]);
	if (before == d->checks.of[CHECK_PROBLEM])
		checks_add(&d->checks, CHECK_OK, "files", "%s: only root can change them, every user can read them",
			   COUNTED(any ? found.gl_pathc : 0, "library"));
	if (any)
		globfree(&found);
}

/* Of the MPIs that the loader knows; those of module files it knows when they are loaded. */
static void check_mpis(struct doctor *d)
{
	char line[1024];
	size_t seen = d->checks.n;
	FILE *in = *d->library ? popen("PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null", "re") : NULL;
	while (in && fgets(line, sizeof line, in)) {
		char *name = line + strspn(line, " \t"), *path = strstr(line, "=> ");
		name[strcspn(name, " \n")] = '\0';
		if (path && strncmp(name, "libmpi", 6) == 0 && strstr(name, ".so."))
			doctor_library(d, "mpi", name);
	}
	if (in)
		pclose(in);
	if (seen == d->checks.n)
		checks_add(&d->checks, CHECK_NOTE, "mpi",
			   "the loader knows no MPI here: with a module loaded, iolens doctor -- PROGRAM examines one");
}

/* ---- directories of logs ---- */

static void check_space(struct doctor *d, const char *path)
{
	enum { LEAST_PERCENT = 5 };
	struct statvfs s;
	char room[UNITS_TEXT];
	if (statvfs(path, &s) != 0 || !s.f_blocks)
		return;
	double free = 100.0 * (double)s.f_bavail / (double)s.f_blocks;
	double names = s.f_files ? 100.0 * (double)s.f_favail / (double)s.f_files : 100;
	bool low = free < LEAST_PERCENT || names < LEAST_PERCENT;
	checks_add(&d->checks, low ? CHECK_PROBLEM : CHECK_OK, "space",
		   "%s: %s (%.0f %%) and %.0f %% of the inodes free%s", path,
		   units_bytes(room, (double)s.f_bavail * (double)s.f_frsize), free, names,
		   low ? ": archive or remove old logs" : "");
}

/* CLOSED: LOGPATH, its year and its month are root's alone. OPEN: in a day's users make files, and remove only their own. */
enum level { LEVEL_CLOSED, LEVEL_COLLECTED, LEVEL_OPEN, LEVEL_SPOOL };

static void check_mode(struct doctor *d, const char *path, unsigned owner, unsigned mode, enum level level)
{
	bool written = mode & (S_IWGRP | S_IWOTH);
	if (level >= LEVEL_OPEN && !(mode & S_IWOTH))
		checks_add(&d->checks, CHECK_PROBLEM, "logs", "%s: mode %04o: users cannot write logs: chmod %s", path,
			   mode, level == LEVEL_OPEN ? "1777" : "1733");
	else if (level == LEVEL_COLLECTED && written)
		checks_add(&d->checks, CHECK_PROBLEM, "logs",
			   "%s: mode %04o: iolens collect makes no logs where other users may write: chmod go-w", path,
			   mode);
	else if (written && !(mode & S_ISVTX))
		checks_add(&d->checks, CHECK_PROBLEM, "logs", "%s: mode %04o: users may remove other users' logs: %s",
			   path, mode, level >= LEVEL_OPEN ? "chmod +t" : "chmod go-w");
	else if (level < LEVEL_OPEN && !(mode & S_IXOTH))
		checks_add(&d->checks, CHECK_PROBLEM, "logs", "%s: mode %04o: not all users can enter it: chmod a+x",
			   path, mode);
	else
		checks_add(&d->checks, CHECK_OK, "logs", "%s: user %u, mode %04o", path, owner, mode);
}

static void check_level(struct doctor *d, const char *path, enum level level)
{
	struct stat s;
	if (stat(path, &s) != 0)
		return;
	if (s.st_uid != 0)
		checks_add(&d->checks, CHECK_PROBLEM, "logs",
			   "%s: belongs to user %u, who can remove all logs: chown root", path, (unsigned)s.st_uid);
	check_mode(d, path, (unsigned)s.st_uid, s.st_mode & 07777, level);
}

static void check_acl(struct doctor *d, const char *path)
{
	if (getxattr(path, "system.posix_acl_default", NULL, 0) <= 0)
		return;
	checks_add(&d->checks, d->group_readable ? CHECK_OK : CHECK_NOTE, "acl", "%s: a default ACL%s", path,
		   d->group_readable
			   ? ""
			   : ", which logs of mode 0400 mask: GROUP_READABLE in the configuration file makes it count");
}

static void check_place(struct doctor *d, const struct log_place *place)
{
	char path[DOCTOR_PATH + 64];
	time_t now = time(NULL);
	struct tm t = *localtime(&now);
	struct stat s;
	const char *root = place->path;
	bool collected = place->kind == PLACE_AREA;
	enum level above = collected ? LEVEL_COLLECTED : LEVEL_CLOSED;
	if (stat(root, &s) != 0)
		return; /* said where it is named */
	bool open = s.st_mode & S_IWOTH && !collected;
	check_space(d, root);
	check_level(d, root, place->kind == PLACE_SPOOL ? LEVEL_SPOOL : open ? LEVEL_OPEN : above);
	check_acl(d, root);
	for (int n = 0; n < 3 && place->kind != PLACE_SPOOL; n++) {
		size_t used = (size_t)snprintf(path, sizeof path, "%s/%d", root, t.tm_year + 1900);
		if (n > 0)
			used += (size_t)snprintf(path + used, sizeof path - used, "/%d", t.tm_mon + 1);
		if (n > 1)
			snprintf(path + used, sizeof path - used, "/%d", t.tm_mday);
		check_level(d, path, n == 2 && !collected ? LEVEL_OPEN : above);
		check_acl(d, path);
	}
	if (place->kind == PLACE_LOGS && !open && stat(path, &s) != 0)
		checks_add(&d->checks, CHECK_PROBLEM, "logs", "%s: not there, and users cannot write to %s: %s", path,
			   root, "deploy/slurm/directories makes it, and Slurm's prolog");
}

static void check_places(struct doctor *d)
{
	if (!d->n_places)
		checks_add(&d->checks, CHECK_PROBLEM, "logs",
			   "no directory of logs: neither IOLENS_LOGPATH nor Slurm's files nor a module file name one");
	for (size_t n = 0; n < d->n_places; n++)
		check_place(d, &d->places[n]);
}

/* ---- module files ---- */

static bool module_value(const char *file, const char *name, char value[SITE_TEXT])
{
	char key[32];
	bool lua = strlen(file) > 4 && strcmp(file + strlen(file) - 4, ".lua") == 0;
	snprintf(key, sizeof key, "%s %s", lua ? "local" : "set", name);
	return site_file_value(file, key, value);
}

static void check_module(struct doctor *d, const char *file)
{
	char root[SITE_TEXT], logs[SITE_TEXT], library[SITE_TEXT + 64];
	if (!module_value(file, "root", root) || !module_value(file, "logs", logs)) {
		checks_add(&d->checks, CHECK_NOTE, "module", "%s: not the one of deploy/modulefiles", file);
		return;
	}
	snprintf(library, sizeof library, "%s/iolens/lib/libiolens.so", root);
	if (access(library, R_OK) != 0)
		checks_add(&d->checks, CHECK_PROBLEM, "module", "%s: %s: %s: correct its first line, root", file,
			   library, strerror(errno));
	else if (access(logs, F_OK) != 0)
		checks_add(&d->checks, CHECK_PROBLEM, "module", "%s: %s: %s: correct its second line, logs", file, logs,
			   strerror(errno));
	else
		checks_add(&d->checks, CHECK_OK, "module", "%s: %s, logs in %s", file, root, logs);
}

static void each_module(struct doctor *d, void (*look)(struct doctor *d, const char *file))
{
	static const char *const names[] = {"iolens", "iolens.lua"};
	const char *given = getenv("MODULEPATH");
	char file[PATH_MAX];
	struct stat s;
	for (const char *at = given && *given ? given
					      : "/usr/share/modules/modulefiles:/etc/environment-modules/modules";
	     *at; at += strcspn(at, ":"), at += *at == ':')
		for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
			snprintf(file, sizeof file, "%.*s/%s", (int)strcspn(at, ":"), at, names[n]);
			if (stat(file, &s) == 0 && S_ISREG(s.st_mode))
				look(d, file);
		}
}

static void check_modules(struct doctor *d)
{
	size_t seen = d->checks.n;
	each_module(d, check_module);
	if (seen == d->checks.n)
		checks_add(&d->checks, CHECK_NOTE, "module", "no module file iolens in %s",
			   getenv("MODULEPATH") ? "MODULEPATH" : "the usual places");
}

/* ---- units of systemd ---- */

static const char *const unit_places[] = {"/etc/systemd/system", "/usr/local/lib/systemd/system",
					  "/lib/systemd/system"};

static bool find_unit(const char *name, char path[PATH_MAX])
{
	const char *given = getenv("SYSTEMD_UNIT_PATH");
	if (given && *given) {
		snprintf(path, PATH_MAX, "%.*s/%s", (int)strcspn(given, ":"), given, name);
		return access(path, F_OK) == 0;
	}
	for (size_t n = 0; n < sizeof unit_places / sizeof *unit_places; n++) {
		snprintf(path, PATH_MAX, "%s/%s", unit_places[n], name);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* The first program of a service that is not there. */
static bool look_for_program(void *target, const char *file, char *line)
{
	char *missing = target;
	if (strncmp(line, "ExecStart=", 10) != 0)
		return true;
	snprintf(missing, SITE_TEXT, "%.*s", (int)strcspn(line + 10, " "), line + 10);
	if (access(missing, X_OK) == 0)
		*missing = '\0';
	return !*missing;
}

/* A missing directory that its settings name; not the lake, which systemd makes. */
static bool misses_directory(struct doctor *d, const char *settings)
{
	static const char *const names[] = {"IOLENS_LOGS", "IOLENS_LOGPATH", "IOLENS_SPOOL"};
	char value[SITE_TEXT];
	for (size_t n = 0; n < sizeof names / sizeof *names; n++)
		if (site_file_value(settings, names[n], value) && access(value, F_OK) != 0) {
			checks_add(&d->checks, CHECK_PROBLEM, "systemd", "%s: %s=%s: %s: make it, or name another",
				   settings, names[n], value, strerror(errno));
			return true;
		}
	return false;
}

/* What starts it: a timer, or for a service that stays the machine. */
static void check_switch(struct doctor *d, const char *service, const char *starter, const char *target)
{
	char path[PATH_MAX], wanted[PATH_MAX];
	snprintf(wanted, sizeof wanted, "%s.target.wants/%s", target, starter);
	if (find_unit(starter, path) && !find_unit(wanted, path))
		checks_add(&d->checks, CHECK_NOTE, "systemd", "%s: not switched on: systemctl enable --now %s", starter,
			   starter);
	else
		checks_add(&d->checks, CHECK_OK, "systemd", "%s: its program and settings are there", service);
}

static void check_unit(struct doctor *d, const char *name, const char *target)
{
	char service[64], timer[64], path[PATH_MAX], value[SITE_TEXT];
	snprintf(service, sizeof service, "%s.service", name);
	snprintf(timer, sizeof timer, "%s.timer", name);
	if (!find_unit(service, path))
		return;
	if (site_file_value(path, "EnvironmentFile", value)) {
		if (access(value, R_OK) != 0) {
			checks_add(&d->checks, CHECK_PROBLEM, "systemd", "%s: %s: %s: copy it from deploy/systemd",
				   path, value, strerror(errno));
			return;
		}
		if (misses_directory(d, value))
			return;
	}
	*value = '\0';
	site_file_read(path, look_for_program, value);
	if (*value) {
		checks_add(&d->checks, CHECK_PROBLEM, "systemd", "%s: %s: %s: correct ExecStart", path, value,
			   strerror(errno));
		return;
	}
	check_switch(d, service, strcmp(target, "timers") == 0 ? timer : service, target);
}

static void check_units(struct doctor *d)
{
	static const char *const units[][2] = {{"iolens-ingest", "timers"},
					       {"iolens-nightly", "timers"},
					       {"iolens-collect", "timers"},
					       {"iolens-kernel", "multi-user"}};
	size_t seen = d->checks.n;
	for (size_t n = 0; n < sizeof units / sizeof *units; n++)
		check_unit(d, units[n][0], units[n][1]);
	if (seen == d->checks.n)
		checks_add(&d->checks, CHECK_NOTE, "systemd", "no units of iolens on this node");
}

void doctor_site(struct doctor *d)
{
	d->checks.about = "site";
	check_files(d);
	check_mpis(d);
	check_places(d);
	doctor_slurm(d);
	check_modules(d);
	check_units(d);
}

/* ---- where logs are ---- */

static void add_module_logs(struct doctor *d, const char *file)
{
	char logs[SITE_TEXT];
	if (module_value(file, "logs", logs))
		doctor_add_place(d, logs, PLACE_LOGS);
}

/* Of the collector's settings the area alone: what programs write to is among the others. */
static void add_collected(struct doctor *d)
{
	char unit[PATH_MAX], settings[SITE_TEXT], logs[SITE_TEXT];
	if (find_unit("iolens-collect.service", unit) && site_file_value(unit, "EnvironmentFile", settings) &&
	    site_file_value(settings, "IOLENS_LOGS", logs) && access(logs, F_OK) == 0)
		doctor_add_place(d, logs, PLACE_AREA);
}

void doctor_places(struct doctor *d)
{
	doctor_slurm_places(d);
	doctor_add_place(d, d->logs, PLACE_LOGS);
	each_module(d, add_module_logs);
	add_collected(d);
}
