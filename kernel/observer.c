#include "observer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "config.h"
#include "hash.h"
#include "path.h"

enum { TEXT = 2 * OBSERVED_PATH, MOST_ENVIRONMENT = 1 << 20 };

/* The object that clang has made of observe.bpf.c (observe_object.S.in). */
extern const char observe_object[], observe_object_end[];

/* ---- images ---- */

static struct image *image_known(const struct observer *o, uint64_t number)
{
	size_t n = index_find(&o->numbers, number);
	return n == SIZE_MAX ? NULL : o->images[n];
}

static struct image *image_made(struct observer *o, uint64_t number)
{
	struct image *i = image_known(o, number);
	bool is_new;
	if (i || !number)
		return i;
	if (!index_grow(&o->images, o->nimages, sizeof(struct image *)) || !(i = calloc(1, sizeof *i)))
		return NULL;
	if (index_number(&o->numbers, number, &is_new) == SIZE_MAX) {
		free(i);
		return NULL;
	}
	i->number = number;
	return o->images[o->nimages++] = i;
}

static struct image_file *file_of(struct image *i, uint64_t name)
{
	bool is_new = false;
	size_t n = index_find(&i->names, name);
	if (n != SIZE_MAX)
		return &i->files[n];
	if (!index_grow(&i->files, i->nfiles, sizeof *i->files) || index_number(&i->names, name, &is_new) == SIZE_MAX)
		return NULL;
	i->files[i->nfiles] = (struct image_file){.name = name};
	return &i->files[i->nfiles++];
}

static void image_free(struct image *i)
{
	for (size_t n = 0; n < i->nfiles; n++)
		free(i->files[n].path);
	log_free(i->files);
	index_free(&i->names);
	free(i->environment);
	free(i->folded);
	free(i);
}

void observer_drop(struct observer *o, bool (*done)(const struct image *i))
{
	size_t kept = 0;
	bool is_new;
	for (size_t n = 0; n < o->nimages; n++) {
		struct image *i = o->images[n];
		if (done(i)) {
			bpf_map_delete_elem(o->counts, &i->number);
			image_free(i);
		} else {
			o->images[kept++] = i;
		}
	}
	if (kept == o->nimages)
		return;
	o->nimages = kept;
	index_free(&o->numbers);
	for (size_t n = 0; n < kept; n++)
		index_number(&o->numbers, o->images[n]->number, &is_new);
}

void observer_ignore(struct observer *o, struct image *i)
{
	struct observed_image counts = {.ignore = 1};
	i->ignored = true;
	bpf_map_update_elem(o->counts, &i->number, &counts, BPF_EXIST);
}

/* ---- names ---- */

/* From the innermost directory to the root, each with a NUL: to /a/b. */
static void join_upwards(const char *text, size_t n, char *out, size_t room)
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t end = n; end > 0;) {
		size_t start = end - 1;
		while (start > 0 && text[start - 1])
			start--;
		size_t length = end - 1 - start;
		if (length && used + length + 2 < room)
			used += (size_t)snprintf(out + used, room - used, "/%.*s", (int)length, text + start);
		end = start;
	}
	if (!used)
		strcpy(out, "/");
}

/* No link stands in the directory that a path begins at: the kernel has said where it is. */
static const char *leave_upwards(char *base, const char *given)
{
	while (given[0] == '.' && (given[1] == '/' || (given[1] == '.' && (given[2] == '/' || !given[2])))) {
		char *slash = given[1] == '.' ? strrchr(base, '/') : NULL;
		if (slash)
			slash[slash == base] = '\0';
		given += given[1] == '.' ? 2 : 1;
		given += strspn(given, "/");
	}
	return given;
}

static bool path_of_event(const struct observed_head *h, const char *text, struct path *p)
{
	char given[OBSERVED_PATH + 1], base[3 * OBSERVED_PATH];
	snprintf(given, sizeof given, "%.*s", (int)h->path, text);
	join_upwards(text + h->path, h->base, base, sizeof base);
	base[OBSERVED_PATH - 1] = '\0';
	const char *rest = given[0] == '/' ? given : leave_upwards(base, given);
	p->length = (uint32_t)log_clean_path(base, *rest ? rest : base, p->text, sizeof p->text);
	if (!p->length)
		return false;
	path_trim(p);
	if (strstr(rest, ".."))
		path_resolve(p);
	return true;
}

static void on_name(struct image *i, const struct observed_head *h, const char *text)
{
	struct path p;
	struct image_file *f = file_of(i, h->name);
	if (f && !f->path && path_of_event(h, text, &p))
		f->path = strdup(p.text);
}

static bool any_row(const void *row, size_t n)
{
	return row && n;
}

static void on_shared(struct image *i, const struct observed_head *h, const char *text)
{
	struct path p;
	char all[OBSERVED_PATH];
	struct image_file *f = file_of(i, h->name);
	if (!f || !path_of_event(h, text, &p))
		return;
	if (!i->folded && !(i->folded = calloc(1, sizeof *i->folded)))
		return;
	overflow_add(&i->overflow, i->folded->directory, &i->folded->index, any_row, OVERFLOW_DATA, p.text, p.length);
	i->dirty = true;
	if (!f->path)
		f->path = strdup(image_shared_path(p.text, all));
}

/* ---- the life of an image ---- */

void image_set_command(struct image *i, const char *text, size_t n)
{
	size_t used = 0, room = sizeof i->command - 1;
	i->command[0] = '\0';
	for (size_t at = 0, length; at < n; at += length + 1) {
		length = strnlen(text + at, n - at);
		char argument[OBSERVED_ARGS + 1];
		memcpy(argument, text + at, length);
		argument[length] = '\0';
		const char *shown = at && filter_hits(&config.mask_args, 0, argument) ? "***" : argument;
		int more = snprintf(i->command + used, room - used, "%s%s", at ? " " : "", shown);
		used += more > 0 ? (size_t)more : 0;
		used = used < room ? used : room - 1;
	}
	for (char *c = i->command; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
}

static void replace(struct image *before, const struct observed_head *h)
{
	if (!before)
		return;
	before->ended = *h;
	before->replaced = before->dirty = true;
}

static void on_exec(struct observer *o, const struct observed_head *h, const char *text)
{
	char exe[3 * OBSERVED_PATH];
	struct image *before = image_known(o, h->parent), *i = image_made(o, h->image);
	replace(before, h);
	if (!i)
		return;
	i->started = *h;
	i->dirty = true;
	join_upwards(text, h->path, exe, sizeof exe);
	snprintf(i->exe, sizeof i->exe, "%.511s", exe);
	image_set_command(i, text + h->path, h->args);
	if (o->began)
		o->began(i, before);
}

static void on_fork(struct observer *o, const struct observed_head *h)
{
	const struct image *parent = image_known(o, h->parent);
	struct image *i = image_made(o, h->image);
	if (!i)
		return;
	i->started = *h;
	i->forked = true;
	if (parent) {
		memcpy(i->exe, parent->exe, sizeof i->exe);
		memcpy(i->command, parent->command, sizeof i->command);
	}
	if (o->began)
		o->began(i, parent);
}

static void on_environment(struct observer *o, const struct observed_head *h, const char *text)
{
	struct image *i = image_made(o, h->image);
	char *more = i && i->nenvironment + h->path < MOST_ENVIRONMENT
			     ? realloc(i->environment, i->nenvironment + h->path + 1)
			     : NULL;
	if (!more)
		return;
	memcpy(more + i->nenvironment, text, h->path);
	i->nenvironment += h->path;
	more[i->nenvironment] = '\0';
	i->environment = more;
}

static void on_image(struct image *i, const struct observed_head *h, const char *text)
{
	if (h->event == OBSERVED_EVENT_NAME) {
		on_name(i, h, text);
	} else if (h->event == OBSERVED_EVENT_SHARED) {
		on_shared(i, h, text);
	} else if (h->event == OBSERVED_EVENT_EXIT) {
		i->ended = *h;
		i->dirty = true;
	} else if (h->event == OBSERVED_EVENT_PRELOADED) {
		i->preloaded = i->dirty = true;
	}
}

static int on_event(void *context, void *data, size_t size)
{
	struct observer *o = context;
	const struct observed_head *h = data;
	const char *text = (const char *)(h + 1);
	if (size < sizeof *h || sizeof *h + h->path + h->base + h->args > size || h->path > TEXT ||
	    h->args > OBSERVED_ARGS)
		return 0;
	if (h->event == OBSERVED_EVENT_EXEC || h->event == OBSERVED_EVENT_RUNNING) {
		on_exec(o, h, text);
	} else if (h->event == OBSERVED_EVENT_FORK) {
		on_fork(o, h);
	} else if (h->event == OBSERVED_EVENT_ENVIRONMENT) {
		on_environment(o, h, text);
	} else {
		struct image *i = image_known(o, h->image);
		if (i)
			on_image(i, h, text);
	}
	return 0;
}

/* ---- counters ---- */

/* What has ended is counted for good: its entries make room for others. */
static void sweep_files(struct observer *o, int map)
{
	struct observed_key key, next;
	struct observed_file counts;
	int more = bpf_map_get_next_key(map, NULL, &next);
	while (more == 0) {
		key = next;
		more = bpf_map_get_next_key(map, &key, &next);
		struct image *i = image_known(o, key.image);
		if (i && bpf_map_lookup_elem(map, &key, &counts) == 0) {
			struct image_file *f = file_of(i, key.name);
			if (!f)
				continue;
			i->dirty = i->dirty || !f->counted || memcmp(&f->counts, &counts, sizeof counts) != 0;
			f->counts = counts;
			f->counted = true;
		}
		if (!i || i->ended.when || i->preloaded || i->ignored)
			bpf_map_delete_elem(map, &key);
	}
}

static void sweep_counts(struct observer *o)
{
	struct observed_image counts;
	for (size_t n = 0; n < o->nimages; n++) {
		struct image *i = o->images[n];
		if (bpf_map_lookup_elem(o->counts, &i->number, &counts) != 0)
			continue;
		i->dirty = i->dirty || memcmp(&i->counts, &counts, sizeof counts) != 0;
		i->counts = counts;
	}
}

void observer_sweep(struct observer *o)
{
	ring_buffer__consume(o->ring);
	sweep_files(o, o->files);
	sweep_files(o, o->shared);
	sweep_counts(o);
}

void observer_wait(struct observer *o, int ms)
{
	ring_buffer__poll(o->ring, ms);
}

struct observed_sums observer_losses(struct observer *o)
{
	struct observed_sums sums = {0}, more;
	struct bpf_map *map;
	uint32_t zero = 0;
	bpf_object__for_each_map(map, o->object)
	{
		if (strstr(bpf_map__name(map), ".bss") && bpf_map__value_size(map) == sizeof sums)
			bpf_map_lookup_elem(bpf_map__fd(map), &zero, &sums);
	}
	more = (struct observed_sums){.files = sums.files - o->losses.files, .events = sums.events - o->losses.events};
	o->losses = sums;
	return more;
}

/* ---- start ---- */

static bool read_first(const char *path, char *text, size_t room)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(text, (int)room, f);
	if (f)
		fclose(f);
	return got;
}

/* What stands in the way, as far as the system tells. */
static bool refuse(char why[OBSERVER_REASON], const char *what, int error)
{
	struct utsname u;
	char lockdown[128];
	int major = 0, minor = 0;
	error = error < 0 ? -error : error;
	uname(&u);
	if (sscanf(u.release, "%d.%d", &major, &minor) == 2 && (major < 5 || (major == 5 && minor < 13)))
		snprintf(why, OBSERVER_REASON, "Linux 5.13 or later is needed for eBPF, this is %.64s", u.release);
	else if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		snprintf(why, OBSERVER_REASON,
			 "this kernel does not describe itself for eBPF: no /sys/kernel/btf/vmlinux "
			 "(CONFIG_DEBUG_INFO_BTF)");
	else if (read_first("/sys/kernel/security/lockdown", lockdown, sizeof lockdown) &&
		 strstr(lockdown, "[confidentiality]"))
		snprintf(why, OBSERVER_REASON, "the kernel is locked down (confidentiality): no eBPF");
	else if (error == EPERM || error == EACCES)
		snprintf(why, OBSERVER_REASON,
			 "the kernel does not let this user observe system calls by eBPF: it takes root, or CAP_BPF "
			 "and CAP_PERFMON");
	else
		snprintf(why, OBSERVER_REASON, "%s: %s", what, strerror(error));
	return false;
}

static struct observed_settings settings_for(const struct observer_scope *scope)
{
	struct observed_settings settings = {
		.root = scope->root, .least_user = scope->least_user, .image_files = image_files()};
	struct stat s;
	if (scope->directory && stat(scope->directory, &s) == 0) {
		settings.directory[0].inode = s.st_ino;
		/* as the kernel itself has it */
		settings.directory[0].device = (uint64_t)major(s.st_dev) << 20 | minor(s.st_dev);
	}
	return settings;
}

static bool set_up(struct observer *o, const struct observer_scope *scope)
{
	struct observed_settings settings = settings_for(scope);
	struct bpf_map *map;
	struct bpf_program *iterator = bpf_object__find_program_by_name(o->object, "running");
	bool set = false;
	bpf_object__for_each_map(map, o->object)
	{
		if (strstr(bpf_map__name(map), ".rodata.settings"))
			set = bpf_map__set_initial_value(map, &settings, sizeof settings) == 0;
	}
	return set && iterator && bpf_program__set_autoload(iterator, !scope->root) == 0;
}

static bool attach(struct observer *o)
{
	struct bpf_program *program;
	bpf_object__for_each_program(program, o->object)
	{
		if (bpf_program__autoload(program) && strcmp(bpf_program__name(program), "running") != 0 &&
		    !bpf_program__attach(program))
			return false;
	}
	return true;
}

/* Programs of the node that run already. */
static void find_running(struct observer *o)
{
	char nothing[64];
	struct bpf_program *program = bpf_object__find_program_by_name(o->object, "running");
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	while (fd >= 0 && read(fd, nothing, sizeof nothing) > 0)
		;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
}

static int no_words(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

bool observer_start(struct observer *o, const struct observer_scope *scope, char why[OBSERVER_REASON])
{
	libbpf_set_print(no_words);
	o->object = bpf_object__open_mem(observe_object, (size_t)(observe_object_end - observe_object), NULL);
	if (!o->object || !set_up(o, scope))
		return refuse(why, "the BPF object cannot be opened", errno);
	int code = bpf_object__load(o->object);
	if (code)
		return refuse(why, "the BPF programs cannot be loaded", code);
	o->files = bpf_object__find_map_fd_by_name(o->object, "files");
	o->shared = bpf_object__find_map_fd_by_name(o->object, "shared");
	o->counts = bpf_object__find_map_fd_by_name(o->object, "images");
	o->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(o->object, "events"), on_event, o, NULL);
	if (!o->ring)
		return refuse(why, "no ring for the kernel's events", errno);
	if (!attach(o))
		return refuse(why, "a tracepoint of system calls cannot be had", errno);
	if (!scope->root)
		find_running(o);
	return true;
}
