#include "snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "container.h"
#include "descriptor.h"
#include "log.h"
#include "store_reader.h"
#include "trailer.h"

enum { READINGS = 5, ABSURD = 1 << 30 };

static const char state_schema[] = "version u64\nsize u64\n";
enum { SCHEMA_ROOM = 64 };    /* it is padded */
enum { LAST_VERSION = 1000 }; /* what is above is no version */

struct copy {
	int fd;
	uint64_t size; /* of the file */
	struct log_bytes *out;
	bool torn;
	bool other_version;
};

/* Beyond the end of the file there are zeros. */
static int copy_range(struct copy *c, uint64_t from, size_t n)
{
	if (log_bytes_room(c->out, n) < 0)
		return LOG_E_MEMORY;
	uint8_t *to = c->out->at + c->out->used;
	memset(to, 0, n);
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(c->fd, to + done, n - done, (off_t)(from + done));
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	c->torn |= from > c->size || n > c->size - from;
	c->out->used += n;
	return 0;
}

static struct log_region get_region(const struct log_bytes *b, size_t at)
{
	struct log_region r;
	memcpy(&r, b->at + at, sizeof r);
	return r;
}

/* Bytes of whole records with arrays behind them, as far as there are any. */
static uint64_t whole_layouts(const uint8_t *at, uint64_t n)
{
	struct lustre_record r;
	uint64_t used = 0;
	while (n - used >= sizeof r) {
		memcpy(&r, at + used, sizeof r);
		uint64_t rest = n - used - sizeof r, components = (uint64_t)r.num_components;
		if (components > rest / sizeof(struct lustre_component))
			break;
		rest -= components * sizeof(struct lustre_component);
		if ((uint64_t)r.num_stripes > rest / sizeof(int64_t))
			break;
		used += sizeof r + components * sizeof(struct lustre_component) +
			(uint64_t)r.num_stripes * sizeof(int64_t);
	}
	return used;
}

static uint64_t whole_records(const struct schema_module *m, const uint8_t *at, uint64_t n)
{
	if (m && m->layout == LAYOUT_LUSTRE)
		return whole_layouts(at, n);
	return m && m->size ? n - n % m->size : n;
}

/* Whole records only. Moves a region behind what is copied already, and its entry in the header with it. */
static int copy_region(struct copy *c, size_t entry, const struct schema_module *m)
{
	struct log_region r = get_region(c->out, entry);
	if (!r.offset)
		return 0;
	uint64_t there = r.offset < c->size ? c->size - r.offset : 0;
	c->torn |= r.length > there;
	r.length = r.length < there ? r.length : there;
	struct log_region moved = {c->out->used, r.length};
	if (r.length > ABSURD || copy_range(c, r.offset, r.length) < 0)
		return LOG_E_MEMORY;
	moved.length = whole_records(m, c->out->at + moved.offset, r.length);
	c->out->used = moved.offset + moved.length;
	memcpy(c->out->at + entry, &moved, sizeof moved);
	return 0;
}

enum { NAMES_ENTRY = 32, MODULE_ENTRY = 48 };

/* Where in a store things are that the header does not tell. */
struct places {
	uint64_t state; /* 0 = not known */
	uint64_t trace, trace_length;
	uint64_t communication;       /* where there is any: in front of the sites */
	uint64_t sites, sites_length; /* in front of the modules */
};

/*
 * The regions of modules have equal room, and the process's account stands behind the last. Before the first are the names, which
 * have as much behind the job, and the trace.
 */
static struct places infer_places(const struct log_bytes *head)
{
	enum { PAGE = 4096, NAMES = (CONTAINER_HEADER + CONTAINER_JOB_MAX + PAGE - 1) / PAGE * PAGE };
	uint64_t first = UINT64_MAX, last = 0, before = 0;
	for (size_t m = 0; m < LOG_MAX_MODULES; m++) {
		uint64_t at = get_region(head, MODULE_ENTRY + 16 * m).offset;
		first = at && at < first ? at : first;
		if (at > last) {
			before = last;
			last = at;
		} else if (at > before && at < last) {
			before = at;
		}
	}
	struct places p = {.state = before ? last + (last - before) : 0, .trace = NAMES + (last - before)};
	p.trace_length = before && first > p.trace ? first - p.trace : 0;
	p.sites_length = before ? SITE_ROOM(last - before) : 0;
	p.sites_length = p.trace_length < p.sites_length ? 0 : p.sites_length;
	p.sites = first - p.sites_length;
	p.trace_length -= p.sites_length;
	p.communication = p.trace_length >= STATE_COMMUNICATION_BYTES ? p.sites - STATE_COMMUNICATION_BYTES : 0;
	return p;
}

static struct trailer_entry entry_of(const char *name, const struct log_region *at)
{
	struct trailer_entry e = {
		.offset = at->offset, .stored = at->length, .raw = at->length, .flags = TRAILER_IN_PLACE};
	strncpy(e.name, name, sizeof e.name - 1);
	return e;
}

/* What is beside the records, in the copy. */
struct beside {
	struct log_region trace, communication, sites;
};

/* A struct process_state, but for its alignment, which no allocator promises; and what comes behind it. */
static uint8_t *add_state(struct copy *c, const struct beside *beside)
{
	enum { SECTIONS = 4 };
	size_t room = section_in_place_size(state_schema, sizeof(struct process_state), 1, 0);
	size_t pad = -c->out->used & 63;
	size_t tail = SECTIONS * sizeof(struct trailer_entry) + sizeof(struct trailer_footer);
	if (log_bytes_room(c->out, pad + room + tail) < 0)
		return NULL;
	memset(c->out->at + c->out->used, 0, pad + room + tail);
	uint64_t at = c->out->used + pad;
	struct trailer_entry entry[SECTIONS] = {
		[1] = entry_of(TRACE_SECTION, &beside->trace),
		[2] = entry_of(COMMUNICATION_SECTION, &beside->communication),
		[3] = entry_of(SITES_SECTION, &beside->sites),
	};
	uint8_t *state =
		section_in_place(&entry[0], c->out->at, at, "live", state_schema, sizeof(struct process_state), 1, 0);
	if (!state)
		return NULL;
	entry[0].rows = 1;
	memcpy(c->out->at + at + room, entry, sizeof entry);
	footer_in_place((struct trailer_footer *)(c->out->at + at + room + sizeof entry), at + room, SECTIONS);
	c->out->used = at + room + tail;
	return state;
}

static bool read_state(struct copy *c, uint64_t at, uint8_t *state)
{
	uint64_t head[2]; /* version, size */
	char schema[SCHEMA_ROOM] = "";
	_Static_assert(sizeof state_schema - 1 <= sizeof schema, "the schema's padded length");
	if (pread(c->fd, schema, sizeof schema, (off_t)at) != sizeof schema ||
	    memcmp(schema, state_schema, sizeof state_schema - 1) != 0)
		return false;
	for (size_t done = 0; done < sizeof(struct process_state);) {
		ssize_t got = pread(c->fd, state + done, sizeof(struct process_state) - done,
				    (off_t)(at + sizeof schema + done));
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	memcpy(head, state, sizeof head);
	c->other_version = head[0] && head[0] < LAST_VERSION && head[0] != STATE_VERSION;
	return head[0] == STATE_VERSION && head[1] == sizeof(struct process_state);
}

/* What the file's name (host.pid.time.store) and the job region tell. */
static void make_up_state(const struct log_bytes *b, const char *path, uint8_t *state)
{
	static const uint64_t begin[] = {STATE_VERSION, sizeof(struct process_state)};
	struct state_process *p = (struct state_process *)(state + offsetof(struct process_state, process));
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	int64_t job[3];
	memcpy(job, b->at + CONTAINER_HEADER, sizeof job);
	memset(state, 0, sizeof(struct process_state));
	memcpy(state, begin, sizeof begin);
	p->started = job[1] > 0 && job[1] < INT64_C(9000000000) ? job[1] * 1000000000 + job[2] % 1000000000 : 0;
	const char *end = strstr(name, ".store");
	for (int dots = 0; end && end > name && dots < 2; dots += *end == '.')
		end--;
	if (!end || end == name)
		return;
	p->pid = strtoll(end + 1, NULL, 10);
	snprintf(p->host, sizeof p->host, "%.*s", (int)(end - name), name);
}

/* As much of the trace as there are chunks. */
static int copy_trace(struct copy *c, const struct places *p, struct log_region *out)
{
	struct trace_chunk chunk;
	uint64_t n = 0;
	for (; n + sizeof chunk <= p->trace_length; n += chunk.size) {
		ssize_t got = pread(c->fd, &chunk, sizeof chunk, (off_t)(p->trace + n));
		if (got != sizeof chunk || chunk.size < TRACE_ALIGN || chunk.size > p->trace_length - n)
			break;
	}
	*out = (struct log_region){c->out->used, n};
	return n ? copy_range(c, p->trace, n) : 0;
}

/* A number of the process's account; 0: there is no account. */
static uint64_t account(const struct copy *c, const struct places *p, size_t field)
{
	struct {
		uint64_t version, size, shards;
	} head;
	const off_t at = (off_t)(p->state + SCHEMA_ROOM);
	uint64_t value = 0;
	if (!p->state || pread(c->fd, &head, sizeof head, at) != sizeof head || head.version != STATE_VERSION ||
	    head.size != sizeof(struct process_state) ||
	    pread(c->fd, &value, sizeof value, at + (off_t)field) != sizeof value)
		return 0;
	return value;
}

/* What the account says that there is. */
static int copy_communication(struct copy *c, const struct places *p, struct log_region *out)
{
	uint64_t blocks = account(c, p, offsetof(struct process_state, communicating));
	*out = (struct log_region){c->out->used, 0};
	if (!p->communication || blocks > STATE_SHARDS)
		return 0;
	out->length = blocks * sizeof(struct state_communication);
	return copy_range(c, p->communication, out->length);
}

static int copy_sites(struct copy *c, const struct places *p, struct log_region *out)
{
	uint64_t n = account(c, p, offsetof(struct process_state, sites));
	*out = (struct log_region){c->out->used, n <= p->sites_length ? n : 0};
	return out->length ? copy_range(c, p->sites, out->length) : 0;
}

static int copy_all(struct copy *c, const char *path, struct log_error *err)
{
	int64_t magic = 0;
	int code = copy_range(c, 0, CONTAINER_HEADER + CONTAINER_JOB_MAX);
	if (code >= 0)
		memcpy(&magic, c->out->at + 8, sizeof magic);
	if (code >= 0 && (magic != CONTAINER_MAGIC || c->out->at[16] != LOG_PLAIN || c->size < CONTAINER_HEADER))
		return log_fail(err, LOG_E_NOT_LOG, 0, "no store: its header was never written");
	struct places places = code >= 0 ? infer_places(c->out) : (struct places){0};
	struct beside beside = {0};
	if (code >= 0)
		code = copy_region(c, NAMES_ENTRY, NULL);
	for (size_t m = 0; code >= 0 && m < LOG_MAX_MODULES; m++)
		code = copy_region(c, MODULE_ENTRY + 16 * m, m < LOG_MOD_COUNT ? &schema_modules[m] : NULL);
	if (code >= 0)
		code = copy_trace(c, &places, &beside.trace);
	if (code >= 0)
		code = copy_communication(c, &places, &beside.communication);
	if (code >= 0)
		code = copy_sites(c, &places, &beside.sites);
	uint8_t *state = code >= 0 ? add_state(c, &beside) : NULL;
	if (!state)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	if (!places.state || !read_state(c, places.state, state)) {
		make_up_state(c->out, path, state);
		memcpy(state + offsetof(struct process_state, trace.used), &beside.trace.length,
		       sizeof beside.trace.length);
		c->torn = true;
	}
	return 0;
}

static int read_once(struct snapshot *s, const char *path, struct log_error *err)
{
	struct stat st;
	struct copy c = {.fd = store_open(path), .out = &s->bytes};
	*s = (struct snapshot){0};
	if (c.fd < 0 || fstat(c.fd, &st) != 0)
		return log_fail_system(err, "cannot be opened");
	c.size = (uint64_t)st.st_size;
	int code = S_ISREG(st.st_mode) ? copy_all(&c, path, err)
				       : log_fail(err, LOG_E_NOT_LOG, LOG_NOWHERE, "is not a regular file");
	close(c.fd);
	s->torn = c.torn;
	s->other_version = c.other_version;
	if (code < 0)
		log_bytes_free(&s->bytes);
	return code;
}

int snapshot_take(struct snapshot *s, const char *path, struct log_error *err)
{
	int code = read_once(s, path, err);
	for (int n = 1; code >= 0 && n < READINGS; n++) {
		struct snapshot again;
		if ((code = read_once(&again, path, err)) < 0)
			break;
		bool alike =
			again.bytes.used == s->bytes.used && memcmp(again.bytes.at, s->bytes.at, s->bytes.used) == 0;
		again.changing = s->changing || !alike;
		log_bytes_free(&s->bytes);
		*s = again;
		if (alike)
			return 0;
	}
	if (code < 0)
		snapshot_free(s);
	return code;
}

void snapshot_free(struct snapshot *s)
{
	log_bytes_free(&s->bytes);
}

/* ---- is it still being written? ---- */

/* State and start (s since the machine's start) of a process; 0 = there is none. */
static char look_up(int64_t pid, double *start)
{
	char path[40], text[1024];
	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
	int fd = descriptor_open(path, O_RDONLY, 0);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, text, sizeof text - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	const char *at = strrchr(text, ')'); /* the name may hold anything */
	if (!at || !at[1] || !at[2])
		return 0;
	char state = at[2];
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	*start = at ? strtod(at, NULL) / (double)sysconf(_SC_CLK_TCK) : 0;
	return state;
}

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Of the name space in which a process has its number; 0 = unknown. */
static int64_t pid_namespace(const char *process)
{
	char path[300], text[64] = "";
	snprintf(path, sizeof path, "/proc/%s/ns/pid", process);
	ssize_t n = readlink(path, text, sizeof text - 1);
	return n > 5 ? strtoll(text + 5, NULL, 10) : 0; /* pid:[number] */
}

/* The last number of the line NSpid is the innermost one. */
static int64_t number_inside(const char *process)
{
	char path[300], line[256];
	int64_t number = 0;
	snprintf(path, sizeof path, "/proc/%s/status", process);
	FILE *status = fopen(path, "re");
	while (status && fgets(line, sizeof line, status)) {
		char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
		number = last ? strtoll(last, NULL, 10) : number;
	}
	if (status)
		fclose(status);
	return number;
}

/* A process of a container has another number for us, or none. */
static int64_t our_number(const struct state_process *p)
{
	if (!p->pid_namespace || p->pid_namespace == pid_namespace("self"))
		return p->pid;
	DIR *proc = opendir("/proc");
	int64_t found = 0;
	for (struct dirent *e; proc && !found && (e = readdir(proc));)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && pid_namespace(e->d_name) == p->pid_namespace &&
		    number_inside(e->d_name) == p->pid)
			found = strtoll(e->d_name, NULL, 10);
	if (proc)
		closedir(proc);
	return found;
}

static bool same_host(const struct state_process *p)
{
	struct utsname u;
	return uname(&u) == 0 && strncmp(u.nodename, p->host, sizeof p->host - 1) == 0;
}

int64_t snapshot_process_number(const struct state_process *p, bool here)
{
	double start, slack = 2;
	if (p->pid <= 0 || (!here && !same_host(p)))
		return 0;
	int64_t pid = our_number(p);
	char state = pid ? look_up(pid, &start) : 0;
	if (!state || state == 'Z' || state == 'X')
		return 0;
	double booted = seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME);
	return booted + start < (double)p->started * 1e-9 + slack ? pid : 0;
}

bool snapshot_process_is_here(const struct state_process *p, const char *store)
{
	struct statfs s;
	return same_host(p) || (statfs(store, &s) == 0 && s.f_type == TMPFS_MAGIC);
}

bool snapshot_process_runs(const struct state_process *p, const char *store)
{
	return snapshot_process_is_here(p, store) && snapshot_process_number(p, true) > 0;
}

char snapshot_process_state(int64_t pid)
{
	double start;
	return look_up(pid, &start);
}
