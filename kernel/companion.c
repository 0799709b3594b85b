/*
 * iolens-kernel: loads the BPF programs of observe.bpf.c, and leaves what they count in the session's directory, as stores of the
 * programs that nothing is preloaded into. Started by `iolens run --kernel`; ends by SIGUSR2, also when that has ended.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "hash.h"
#include "image_store.h"

enum { TEXT = 2 * OBSERVED_PATH };

/* The object that clang has made of observe.bpf.c (observe_object.S.in). */
extern const char observe_object[], observe_object_end[];

static struct {
	struct image_session session;
	struct bpf_object *object;
	struct ring_buffer *ring;
	int files; /* the map */
	struct image *images;
	size_t nimages;
	bool failed; /* a store could not be written */
} companion;

static int fail(const char *what, int error)
{
	printf("%s: %s\n", what, strerror(error < 0 ? -error : error));
	return 1;
}

/* ---- images ---- */

static struct image *image_of(uint64_t number)
{
	for (size_t n = 0; n < companion.nimages; n++)
		if (companion.images[n].number == number)
			return &companion.images[n];
	struct image *more = realloc(companion.images, (companion.nimages + 1) * sizeof *more);
	if (!more)
		return NULL;
	companion.images = more;
	more[companion.nimages] = (struct image){.number = number};
	return &more[companion.nimages++];
}

static struct image_file *file_of(struct image *i, uint64_t name)
{
	for (size_t n = 0; n < i->nfiles; n++)
		if (i->files[n].name == name)
			return &i->files[n];
	struct image_file *more = realloc(i->files, (i->nfiles + 1) * sizeof *more);
	if (!more)
		return NULL;
	i->files = more;
	more[i->nfiles] = (struct image_file){.name = name};
	return &more[i->nfiles++];
}

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

/* ---- events ---- */

static void on_name(struct image *i, const struct observed_head *h, const char *text)
{
	char given[OBSERVED_PATH + 1], base[3 * OBSERVED_PATH], clean[OBSERVED_PATH];
	struct image_file *f = file_of(i, h->name);
	if (!f || f->path)
		return;
	snprintf(given, sizeof given, "%.*s", (int)h->path, text);
	join_upwards(text + h->path, h->base, base, sizeof base);
	base[OBSERVED_PATH - 1] = '\0';
	if (log_clean_path(base, h->path ? given : base, clean, sizeof clean))
		f->path = strdup(clean);
}

static void on_exec(struct image *i, const struct observed_head *h, const char *text)
{
	char exe[3 * OBSERVED_PATH];
	struct image *before = h->parent ? image_of(h->parent) : NULL;
	if (before) {
		before->ended = *h;
		before->replaced = before->dirty = true;
		i = image_of(h->image);
	}
	i->started = *h;
	i->dirty = true;
	join_upwards(text, h->path, exe, sizeof exe);
	snprintf(i->exe, sizeof i->exe, "%.511s", exe);
	memcpy(i->command, text + h->path, h->args);
	for (uint32_t n = 0; n + 1 < h->args; n++)
		if (!i->command[n] || i->command[n] == '\n')
			i->command[n] = ' ';
}

static void on_fork(struct image *i, const struct observed_head *h)
{
	const struct image *parent = h->parent ? image_of(h->parent) : NULL;
	i = image_of(h->image);
	i->started = *h;
	i->forked = true;
	if (!parent)
		return;
	memcpy(i->exe, parent->exe, sizeof i->exe);
	memcpy(i->command, parent->command, sizeof i->command);
}

static int on_event(void *nothing, void *data, size_t size)
{
	const struct observed_head *h = data;
	const char *text = (const char *)(h + 1);
	struct image *i = image_of(h->image);
	(void)nothing;
	if (!i || size < sizeof *h || sizeof *h + h->path + h->base + h->args > size || h->path >= TEXT ||
	    h->args > OBSERVED_ARGS)
		return 0;
	if (h->event == OBSERVED_EVENT_NAME) {
		on_name(i, h, text);
	} else if (h->event == OBSERVED_EVENT_EXEC) {
		on_exec(i, h, text);
	} else if (h->event == OBSERVED_EVENT_FORK) {
		on_fork(i, h);
	} else if (h->event == OBSERVED_EVENT_EXIT) {
		i->ended = *h;
		i->dirty = true;
	} else {
		i->preloaded = true;
	}
	return 0;
}

/* ---- counters ---- */

/* What has ended is counted for good: its entries make room for others. */
static void sweep(void)
{
	struct observed_key key, next;
	struct observed_file counts;
	ring_buffer__consume(companion.ring);
	int more = bpf_map_get_next_key(companion.files, NULL, &next);
	while (more == 0) {
		key = next;
		more = bpf_map_get_next_key(companion.files, &key, &next);
		struct image *i = bpf_map_lookup_elem(companion.files, &key, &counts) == 0 ? image_of(key.image) : NULL;
		struct image_file *f = i ? file_of(i, key.name) : NULL;
		if (!f)
			continue;
		i->dirty = i->dirty || !f->counted || memcmp(&f->counts, &counts, sizeof counts) != 0;
		f->counts = counts;
		f->counted = true;
		if (i->ended.when || i->preloaded)
			bpf_map_delete_elem(companion.files, &key);
	}
	ring_buffer__consume(companion.ring);
}

static void flush(void)
{
	sweep();
	for (size_t n = 0; n < companion.nimages; n++) {
		struct image *i = &companion.images[n];
		bool worth = i->dirty && !i->preloaded && i->started.when && (i->nfiles || !i->forked) &&
			     !(i->replaced && !i->nfiles);
		if (worth && !image_store_write(i, &companion.session))
			companion.failed = true;
		i->dirty = false;
	}
}

/* ---- start and end ---- */

static struct observed_settings settings_for(pid_t root)
{
	struct observed_settings settings = {.root = root};
	struct stat s;
	if (stat(companion.session.directory, &s) == 0) {
		settings.directory[0].inode = s.st_ino;
		/* as the kernel itself has it */
		settings.directory[0].device = (uint64_t)major(s.st_dev) << 20 | minor(s.st_dev);
	}
	return settings;
}

static int load(pid_t root)
{
	struct bpf_program *program;
	struct bpf_map *map;
	struct observed_settings settings = settings_for(root);
	int code = -EINVAL;
	companion.object = bpf_object__open_mem(observe_object, (size_t)(observe_object_end - observe_object), NULL);
	if (!companion.object)
		return fail("the BPF object cannot be opened", errno);
	bpf_object__for_each_map(map, companion.object) if (strstr(bpf_map__name(map), ".rodata")) code =
		bpf_map__set_initial_value(map, &settings, sizeof settings);
	if (code)
		return fail("the BPF object has no settings", code);
	code = bpf_object__load(companion.object);
	if (code)
		return fail("the kernel does not let this user observe system calls by eBPF", code);
	companion.files = bpf_object__find_map_fd_by_name(companion.object, "files");
	companion.ring =
		ring_buffer__new(bpf_object__find_map_fd_by_name(companion.object, "events"), on_event, NULL, NULL);
	if (!companion.ring)
		return fail("no ring for the kernel's events", errno);
	bpf_object__for_each_program(program, companion.object) if (!bpf_program__attach(program)) return fail(
		"a tracepoint of system calls cannot be had", errno);
	return 0;
}

static int no_words(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

static void report_losses(void)
{
	struct observed_sums sums = {0};
	struct bpf_map *map;
	uint32_t zero = 0;
	bpf_object__for_each_map(map, companion.object) if (strstr(bpf_map__name(map), ".bss") &&
							    bpf_map__value_size(map) == sizeof sums)
		bpf_map_lookup_elem(bpf_map__fd(map), &zero, &sums);
	if (sums.files || sums.events)
		fprintf(stderr,
			"iolens: run: --kernel: partial: %llu opens of files beyond %d, %llu events had no room\n",
			sums.files, OBSERVED_FILES, sums.events);
	if (companion.failed)
		fprintf(stderr, "iolens: run: --kernel: partial: a store could not be written\n");
}

int main(int argc, char **argv)
{
	struct utsname u;
	sigset_t all, end;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 4) {
		fprintf(stderr, "usage: iolens-kernel DIRECTORY EPOCH PID: started by iolens run --kernel\n");
		return 2;
	}
	uname(&u);
	snprintf(companion.session.host, sizeof companion.session.host, "%.64s", u.nodename);
	companion.session.directory = argv[1];
	if (!epoch_parse(&companion.session.epoch, argv[2], companion.session.host))
		return fail("epoch", EINVAL);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	sigemptyset(&end);
	sigaddset(&end, SIGUSR2);
	libbpf_set_print(no_words);
	int code = load((pid_t)atoi(argv[3]));
	if (code)
		return code;
	printf("ready\n");
	while (sigtimedwait(&end, NULL, &(struct timespec){.tv_sec = 1}) < 0)
		flush();
	flush();
	report_losses();
	return 0;
}
