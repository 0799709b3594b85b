#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "doctor.h"
#include "linked_in.h"
#include "other_users.h"
#include "preload.h"
#include "session_dir.h"
#include "witness.h"

/* ---- what it is ---- */

static bool keeps_rights(const char *path)
{
	struct stat s;
	if (stat(path, &s) != 0)
		return false;
	return (s.st_mode & S_ISUID && s.st_uid != geteuid()) || (s.st_mode & S_ISGID && s.st_gid != getegid()) ||
	       (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

static const struct {
	enum program_kind kind;
	enum check_result result;
	const char *text;
} kinds[] = {
	{PROGRAM_OURS, CHECK_OK, "dynamic, of this machine: the library is loaded with it"},
	{PROGRAM_MACHINE, CHECK_PROBLEM, "of another machine or word size: the library cannot be loaded with it"},
	{PROGRAM_LIBC, CHECK_PROBLEM, "of another C library (musl, ...): the library cannot be loaded with it"},
	{PROGRAM_UNKNOWN, CHECK_PROBLEM, "cannot be read, or neither a program nor a script that begins with #!"},
	{PROGRAM_SCRIPT, CHECK_PROBLEM, "a script run by a script run by a script: iolens does not follow it"},
};

static bool has_mark(const char *path, const char *mark)
{
	struct stat s;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &s) == 0 && s.st_size > 0)
		bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (bytes == MAP_FAILED)
		return false;
	bool found = memmem(bytes, (size_t)s.st_size, mark, strlen(mark)) != NULL;
	munmap(bytes, (size_t)s.st_size);
	return found;
}

/* Go and Rust leave marks in every program, stripped or not; libiolens.a is for neither. */
static void judge_static(struct checks *c, const char *path)
{
	static const struct {
		const char *mark, *language;
	} others[] = {{"Go buildinf:", "Go"}, {"RUST_BACKTRACE", "Rust"}};
	for (size_t n = 0; n < sizeof others / sizeof *others; n++)
		if (has_mark(path, others[n].mark)) {
			checks_add(c, CHECK_PROBLEM, "file",
				   "%s: static (%s): it cannot preload the library: as root, iolens run "
				   "--kernel observes it",
				   path, others[n].language);
			return;
		}
	checks_add(c, CHECK_PROBLEM, "file",
		   "%s: static: it cannot preload the library: as root, iolens run --kernel observes it; or "
		   "link it with $(iolens config --static-ldflags)",
		   path);
}

static void judge_kind(struct checks *c, const char *path, enum program_kind own, enum program_kind kind)
{
	if (preload_is_linked(path))
		checks_add(c, CHECK_OK, "file", "%s: static, with iolens linked in: it needs no preloading", path);
	else if (own == PROGRAM_STATIC)
		judge_static(c, path);
	else if (kind == PROGRAM_STATIC)
		checks_add(c, CHECK_PROBLEM, "file",
			   "%s: a script with a static interpreter: as root, iolens run --kernel observes it", path);
	for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++)
		if (kinds[n].kind == kind && !preload_is_linked(path))
			checks_add(c, kinds[n].result, "file", "%s: %s%s", path,
				   own == PROGRAM_SCRIPT ? "a script, its interpreter: " : "", kinds[n].text);
}

/* ---- what a script does with the environment ---- */

static const struct {
	const char *text, *means;
} takers[] = {
	{"unset LD_PRELOAD", "removes the library from the environment"},
	{"LD_PRELOAD=", "sets LD_PRELOAD: is $LD_PRELOAD in the new value?"},
	{"env -i", "clears the environment: programs behind it do not load the library"},
	{"env - ", "clears the environment: programs behind it do not load the library"},
	{"sudo ", "clears the environment: programs behind it do not load the library"},
	{"su -", "clears the environment: programs behind it do not load the library"},
	{"apptainer ", "a container: bind the library's directory and /dev/shm into it"},
	{"singularity ", "a container: bind the library's directory and /dev/shm into it"},
	{"docker run", "a container that a daemon starts: put iolens run inside"},
	{"podman run", "a container: put iolens run inside"},
};

static void read_script(struct checks *c, const char *path)
{
	char line[1024];
	FILE *in = fopen(path, "re");
	for (int number = 1; in && fgets(line, sizeof line, in); number++)
		for (size_t n = 0; n < sizeof takers / sizeof *takers; n++)
			if (*line != '#' && strstr(line, takers[n].text) &&
			    !(strstr(line, "$LD_PRELOAD") || strstr(line, "${LD_PRELOAD"))) {
				checks_add(c, CHECK_NOTE, "script", "%s:%d: %s: %s", path, number, takers[n].text,
					   takers[n].means);
				break;
			}
	if (in)
		fclose(in);
}

/* ---- what it loads ---- */

static const struct {
	const char *beginning, *library, *seen;
} interfaces[] = {
	{"libmpich.so", "mpich", "MPI of the MPICH family"},
	{"libmpi.so.12", "mpich", "MPI of the MPICH family"},
	{"libmpi.so.40", "openmpi", "Open MPI"},
	{"libmpi_abi.so", "abi", "MPI of the standard ABI"},
	{"libhdf5", NULL, "HDF5"},
	{"libpnetcdf.so", NULL, "PnetCDF"},
	{"libmpi.so", NULL, "an MPI"},
};

void doctor_library(struct doctor *d, const char *as, const char *name)
{
	char backend[PATH_MAX + 64];
	const char *slash = strrchr(d->library, '/');
	for (size_t n = 0; n < sizeof interfaces / sizeof *interfaces; n++) {
		const char *of = interfaces[n].library;
		if (strncmp(name, interfaces[n].beginning, strlen(interfaces[n].beginning)) != 0 ||
		    !strncmp(name, "libhdf5_hl", 10))
			continue;
		snprintf(backend, sizeof backend, "%.*s/libiolens-mpi-%s.so", (int)(slash - d->library), d->library,
			 of ? of : "");
		bool lacks = of && access(backend, R_OK) != 0;
		checks_add(&d->checks, lacks ? CHECK_PROBLEM : CHECK_OK, as, "%s (%s)%s", name, interfaces[n].seen,
			   lacks ? ": no back end for it next to the library" : "");
		return;
	}
}

/* Calls that never leave the program's own file. */
static void check_linked_in(struct doctor *d, const char *path)
{
	unsigned found = linked_in(path);
	for (int n = 0; n < LINKED_LIBRARIES; n++)
		if (found >> n & 1)
			checks_add(&d->checks, CHECK_PROBLEM, "linked in",
				   "%s is linked into %s: its calls are not recorded; relink with the shared library%s",
				   linked_in_names[n], path, n == LINKED_HDF5 ? " (h5cc -shlib)" : "");
}

static _Noreturn void list_objects(struct doctor *d, const char *path, int out)
{
	setenv("LD_PRELOAD", d->library, 1);
	setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	alarm(10);
	execl(path, path, (char *)NULL);
	_exit(127);
}

/* As ldd does it: the loader lists what it would load, and the program does not begin. */
static void judge_libraries(struct doctor *d, const char *path)
{
	int ends[2];
	char line[1024];
	if (!preload_loadable(d->library) || pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid_t child = fork();
	if (child == 0)
		list_objects(d, path, ends[1]);
	close(ends[1]);
	FILE *in = fdopen(ends[0], "r");
	while (in && fgets(line, sizeof line, in)) {
		char *name = line + strspn(line, " \t");
		name[strcspn(name, "\n")] = '\0';
		if (strstr(name, "not found") || !strncmp(name, "ERROR", 5))
			checks_add(&d->checks, CHECK_PROBLEM, "loader", "%s", name);
		else
			doctor_library(d, "library", name);
	}
	if (in)
		fclose(in);
	waitpid(child, NULL, 0);
}

/* ---- settings ---- */

/* The library itself decides, by the name that it is started with. */
static void check_rules(struct doctor *d, const char *command)
{
	char directory[PATH_MAX + 32];
	snprintf(directory, sizeof directory, "%s/.iolens-doctor-XXXXXX", *d->stores == '/' ? d->stores : "/dev/shm");
	if (!mkdtemp(directory))
		return;
	struct witness w = {.library = d->library, .session = directory, .name = command};
	FILE *told = witness_start(&w);
	int status = told ? witness_end(&w, told) : -1;
	if (status == 0 && !session_dir_holds_store(directory))
		checks_add(&d->checks, CHECK_PROBLEM, "settings",
			   "the settings above exclude it: DISABLE, or a rule of APP_EXCLUDE");
	stores_remove(directory);
}

void doctor_program(struct doctor *d, const char *command)
{
	char path[PATH_MAX];
	d->checks.about = "program";
	if (!preload_command_path(command, path, sizeof path)) {
		checks_add(&d->checks, CHECK_PROBLEM, "file", "%s: not found, or not executable", command);
		return;
	}
	if (keeps_rights(path)) {
		checks_add(&d->checks, CHECK_PROBLEM, "file",
			   "%s: set-user-id, set-group-id or with capabilities: its loader ignores LD_PRELOAD", path);
		return;
	}
	enum program_kind kind = preload_kind(command), own = preload_kind_of_file(path);
	judge_kind(&d->checks, path, own, kind);
	if (own == PROGRAM_SCRIPT)
		read_script(&d->checks, path);
	else if (kind == PROGRAM_OURS && *d->library && !preload_is_linked(path))
		judge_libraries(d, path);
	if (own == PROGRAM_OURS)
		check_linked_in(d, path);
	if (kind == PROGRAM_OURS && *d->library)
		check_rules(d, command);
}
