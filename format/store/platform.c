#include "platform.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TABLE_MAX = 48 * 1024, SMALL = 4096, LEFT_OUT = 64 };

struct text {
	char *at;
	size_t used, room;
};

struct describing {
	const struct platform_source *from;
	struct text out;
	const char *mounts; /* /proc/self/mountinfo */
	char groups[SMALL]; /* /proc/self/cgroup */
};

/* Unlike Darshan we keep tmpfs: programs do write there. */
bool platform_pseudo(const char *type)
{
	static const char *const types[] = {"proc",       "sysfs", "devpts", "binfmt_misc", "fusectl",   "debugfs",
					    "securityfs", "nfsd",  "none",   "rpc_pipefs",  "hugetlbfs", "cgroup",
					    "cgroup2",    "bpf",   "pstore", "tracefs",     "configfs",  "mqueue"};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* ---- lines ---- */

/* All words, or nothing. */
static bool add_line(struct text *out, const char *const *words, size_t n)
{
	size_t used = out->used;
	for (size_t w = 0; w < n; w++) {
		for (const char *c = words[w]; *c && used < out->room; c++)
			out->at[used++] = (unsigned char)*c < ' ' ? ' ' : *c;
		if (used >= out->room)
			return false;
		out->at[used++] = w + 1 < n ? '\t' : '\n';
	}
	out->used = used;
	return true;
}

static void add(struct describing *d, const char *name, const char *unit, const char *value)
{
	if (*value)
		add_line(&d->out, (const char *[]){name, unit, value}, 3);
}

static void add_number(struct describing *d, const char *name, const char *unit, int64_t number)
{
	char text[32];
	snprintf(text, sizeof text, "%lld", (long long)number);
	add(d, name, unit, text);
}

/* ---- files ---- */

static bool read_text(const struct describing *d, const char *path, char *to, size_t room)
{
	long got = d->from->read(path, to, room - 1);
	to[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static bool read_line(const struct describing *d, const char *path, char *to, size_t room)
{
	bool good = read_text(d, path, to, room);
	to[strcspn(to, "\n")] = '\0';
	return good;
}

/* -1 = no number. */
static int64_t number_of(const char *text)
{
	int64_t n = 0;
	text += strspn(text, " \t");
	if (*text < '0' || *text > '9')
		return -1;
	for (; *text >= '0' && *text <= '9' && n < INT64_MAX / 16; text++)
		n = n * 10 + (*text - '0');
	return n;
}

/* How many numbers a list like 0-3,8 has. */
static int64_t listed(const char *list)
{
	int64_t n = 0;
	while (*list >= '0' && *list <= '9') {
		size_t word = strcspn(list, ","), dash = strcspn(list, "-,");
		int64_t first = number_of(list), last = list[dash] == '-' ? number_of(list + dash + 1) : first;
		n += last >= first ? last - first + 1 : 0;
		list += word + (list[word] == ',');
	}
	return n;
}

/* What stands behind `key` and a colon at the beginning of a line. */
static bool find_value(const char *text, const char *key, char *to, size_t room)
{
	size_t n = strlen(key);
	for (const char *line = text; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL) {
		const char *at = line + n;
		if (strncmp(line, key, n) != 0)
			continue;
		at += strspn(at, " \t");
		if (*at++ != ':')
			continue;
		at += strspn(at, " \t");
		snprintf(to, room, "%.*s", (int)strcspn(at, "\n"), at);
		return true;
	}
	return false;
}

enum kind { AS_TEXT, AS_LIST, AS_KIB, AS_COUNT };

/* A fact is the first line of a file, or what follows a key in it. */
static const struct {
	const char *name, *unit, *path, *key;
	enum kind kind;
} facts[] = {
	{"kernel", "", "/proc/sys/kernel/osrelease", NULL, AS_TEXT},
	{"cpu_model", "", "/proc/cpuinfo", "model name", AS_TEXT},
	{"cpus_online", "cpu", "/sys/devices/system/cpu/online", NULL, AS_LIST},
	{"cpus_allowed", "cpu", "/proc/self/status", "Cpus_allowed_list", AS_LIST},
	{"cpu_list", "", "/proc/self/status", "Cpus_allowed_list", AS_TEXT},
	{"numa_nodes", "node", "/sys/devices/system/node/online", NULL, AS_LIST},
	{"numa_list", "", "/proc/self/status", "Mems_allowed_list", AS_TEXT},
	{"memory_total", "byte", "/proc/meminfo", "MemTotal", AS_KIB},
	{"swap_total", "byte", "/proc/meminfo", "SwapTotal", AS_KIB},
	{"dirty_ratio", "%", "/proc/sys/vm/dirty_ratio", NULL, AS_COUNT},
	{"dirty_background_ratio", "%", "/proc/sys/vm/dirty_background_ratio", NULL, AS_COUNT},
	{"interconnect_cname", "", "/proc/cray_xt/cname", NULL, AS_TEXT},
	{"interconnect_nid", "", "/proc/cray_xt/nid", NULL, AS_TEXT},
	{"interconnect_slingshot_nid", "", "/sys/class/cxi/cxi0/device/properties/nid", NULL, AS_TEXT},
};

static void add_facts(struct describing *d)
{
	char text[SMALL], value[256];
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		bool again = i && strcmp(facts[i].path, facts[i - 1].path) == 0;
		if (!again && !read_text(d, facts[i].path, text, sizeof text))
			text[0] = '\0';
		snprintf(value, sizeof value, "%.*s", (int)strcspn(text, "\n"), text);
		if (!text[0] || (facts[i].key && !find_value(text, facts[i].key, value, sizeof value)))
			continue;
		if (facts[i].kind == AS_TEXT)
			add(d, facts[i].name, facts[i].unit, value);
		else if (facts[i].kind == AS_LIST)
			add_number(d, facts[i].name, facts[i].unit, listed(value));
		else if (number_of(value) >= 0)
			add_number(d, facts[i].name, facts[i].unit,
				   number_of(value) * (facts[i].kind == AS_KIB ? 1024 : 1));
	}
}

/* ---- InfiniBand, Omni-Path, RoCE ---- */

static void add_fabric(struct describing *d)
{
	static const char *const devices[] = {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx4_0", "hfi1_0", "hfi1_1"};
	static const char *const parts[] = {"link_layer", "rate", "lid"};
	char path[128], part[64], name[64], value[256];
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		size_t n = 0;
		for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
			snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/%s", devices[i], parts[p]);
			if (!read_line(d, path, part, sizeof part))
				break;
			n += (size_t)snprintf(value + n, sizeof value - n, "%s%s%s", p ? ", " : "",
					      p == 2 ? "lid " : "", part);
		}
		snprintf(name, sizeof name, "interconnect_%s", devices[i]);
		if (n)
			add(d, name, "", value);
	}
}

/* ---- mounts ---- */

/* A line of mountinfo: number, parent, device, root, point, options, ..., -, type, source, options of the file system. */
struct mount {
	char root[256], point[256], type[64], source[256], options[256], more[512];
};

/* Cut where there is no room: what a line of ours takes is bounded. */
static const char *next_word(const char *at, char *to, size_t room)
{
	size_t n = strcspn(at, " \n");
	if (to)
		snprintf(to, room, "%.*s", (int)n, at);
	return at + n + (at[n] == ' ');
}

/* Returns where the next line begins, NULL after the last one. */
static const char *next_mount(const char *line, struct mount *m)
{
	const char *end = strchr(line, '\n'), *at = line;
	*m = (struct mount){.type = ""};
	for (int skipped = 0; skipped < 3; skipped++)
		at = next_word(at, NULL, 0);
	at = next_word(at, m->root, sizeof m->root);
	at = next_word(at, m->point, sizeof m->point);
	at = next_word(at, m->options, sizeof m->options);
	while (end && at < end && strncmp(at, "- ", 2) != 0)
		at = next_word(at, NULL, 0);
	if (end && at < end) {
		at = next_word(at + 2, m->type, sizeof m->type);
		at = next_word(at, m->source, sizeof m->source);
		next_word(at, m->more, sizeof m->more);
	}
	return end && end[1] ? end + 1 : NULL;
}

#define EACH_MOUNT(d, m) \
	for (const char *line = *(d)->mounts ? (d)->mounts : NULL; line && (line = next_mount(line, &(m)), true);)

/* The kernel hides what it knows to be a secret; no file system's own word for one is to be in a log. */
static bool secret(const char *option)
{
	static const char *const words[] = {"pass", "secret", "key", "cred", "token"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strncmp(option, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* Both lists of options, each word once, and of overlays without the directories. */
static void join_options(const struct mount *m, char *out, size_t room)
{
	static const char *const long_ones[] = {"lowerdir=", "upperdir=", "workdir="};
	char word[256];
	size_t used = (size_t)snprintf(out, room, "%s", m->options);
	for (const char *at = m->more; *at; at += strcspn(at, ","), at += *at == ',') {
		bool left_out = secret(at) || strncmp(at, "rw", 2) == 0 || strncmp(at, "ro", 2) == 0;
		for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++)
			left_out |= strncmp(at, long_ones[i], strlen(long_ones[i])) == 0;
		snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
		if (!left_out && used + strlen(word) + 2 < room)
			used += (size_t)snprintf(out + used, room - used, ",%s", word);
	}
}

static void add_mounts(struct describing *d)
{
	struct mount m;
	char options[192];
	int64_t left_out = 0;
	EACH_MOUNT(d, m)
	{
		if (!m.type[0] || platform_pseudo(m.type))
			continue;
		join_options(&m, options, sizeof options);
		if (!add_line(&d->out, (const char *[]){"mount", m.point, m.type, m.source, options}, 5))
			left_out++;
	}
	d->out.room += LEFT_OUT;
	if (left_out)
		add_number(d, "mounts_left_out", "mount", left_out);
}

/* ---- control groups ---- */

struct group {
	int version;
	char mount[256]; /* where its hierarchy is, */
	char path[512];  /* and below that the group */
};

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, word, n) == 0 && (!at[n] || at[n] == ','))
			return true;
	return false;
}

/* The group's path of a controller; version 2 has all that version 1 does not. */
static bool find_path(const char *groups, const char *controller, struct group *g)
{
	char controllers[128];
	g->version = 0;
	for (const char *line = groups; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *list = line + strcspn(line, ":\n");
		const char *path = *list == ':' ? list + 1 + strcspn(list + 1, ":\n") : list;
		if (*path != ':')
			continue;
		snprintf(controllers, sizeof controllers, "%.*s", (int)(path - list - 1), list + 1);
		bool first = has_word(controllers, controller), second = !controllers[0] && !g->version;
		if (first || second) {
			g->version = first ? 1 : 2;
			snprintf(g->path, sizeof g->path, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
		}
		if (first)
			break;
	}
	return g->version;
}

/* Of a bind mount, as in a container, the path's beginning is the mount's root. */
static bool find_group(const struct describing *d, const char *controller, struct group *g)
{
	struct mount m;
	if (!find_path(d->groups, controller, g))
		return false;
	EACH_MOUNT(d, m)
	{
		bool right = g->version == 2 ? strcmp(m.type, "cgroup2") == 0
					     : strcmp(m.type, "cgroup") == 0 && has_word(m.more, controller);
		size_t n = strcmp(m.root, "/") == 0 ? 0 : strlen(m.root);
		if (!right)
			continue;
		memcpy(g->mount, m.point, sizeof g->mount);
		bool below = strncmp(g->path, m.root, n) == 0 && (g->path[n] == '/' || !g->path[n]);
		if (below)
			memmove(g->path, g->path + n, strlen(g->path + n) + 1);
		if (!below || strstr(g->path, "/..") || strcmp(g->path, "/") == 0)
			g->path[0] = '\0';
		return true;
	}
	return false;
}

static bool read_in_group(const struct describing *d, const struct group *g, const char *file, char *to, size_t room)
{
	char path[1024];
	snprintf(path, sizeof path, "%s%s/%s", g->mount, g->path, file);
	return read_line(d, path, to, room);
}

/* To the group around this one; false when there is none. */
static bool go_up(struct group *g)
{
	char *slash = strrchr(g->path, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

enum { DEEP = 32, LIMIT_BITS = 56 };

/* The least of a group's and all around it. */
static void add_least(struct describing *d, const char *name, struct group g, const char *first, const char *second)
{
	char text[64];
	int64_t least = -1;
	for (int deep = 0; deep < DEEP; deep++) {
		const char *file = g.version == 1 ? first : second;
		int64_t n = read_in_group(d, &g, file, text, sizeof text) ? number_of(text) : -1;
		bool none = n < 0 || n >> LIMIT_BITS; /* what version 1 says where there is none */
		least = none || (least >= 0 && least < n) ? least : n;
		if (!go_up(&g))
			break;
	}
	if (least >= 0)
		add_number(d, name, "byte", least);
}

static void add_cpu_limit(struct describing *d, struct group g)
{
	char text[64], period[64], limit[136] = "";
	double least = 0;
	for (int deep = 0; deep < DEEP; deep++) {
		bool read = read_in_group(d, &g, g.version == 1 ? "cpu.cfs_quota_us" : "cpu.max", text, sizeof text);
		const char *blank = strchr(text, ' ');
		if (read && g.version == 1)
			read = read_in_group(d, &g, "cpu.cfs_period_us", period, sizeof period);
		else
			snprintf(period, sizeof period, "%s", blank ? blank + 1 : "");
		int64_t quota = read ? number_of(text) : -1, each = number_of(period);
		if (quota > 0 && each > 0 && (!limit[0] || (double)quota / (double)each < least)) {
			least = (double)quota / (double)each;
			snprintf(limit, sizeof limit, "%lld/%lld", (long long)quota, (long long)each);
		}
		if (!go_up(&g))
			break;
	}
	add(d, "cpu_limit", "cpu", limit);
}

static void add_groups(struct describing *d)
{
	struct group g;
	if (find_group(d, "memory", &g)) {
		add_number(d, "cgroup_version", "version", g.version);
		add(d, "cgroup", "", g.path[0] ? g.path : "/");
		add_least(d, "memory_limit", g, "memory.limit_in_bytes", "memory.max");
		add_least(d, "swap_limit", g, "memory.memsw.limit_in_bytes", "memory.swap.max");
	}
	if (find_group(d, "cpu", &g))
		add_cpu_limit(d, g);
}

/* ---- the scheduler's allocation ---- */

static const struct {
	char scheduler[8], name[20], unit[8], variable[32]; /* the first of a scheduler tells that it is the one */
} allocation[] = {
	/* clang-format off */
	{"Slurm", "job_id", "", "SLURM_JOB_ID"},
	{"Slurm", "job_step", "", "SLURM_STEP_ID"},
	{"Slurm", "job_name", "", "SLURM_JOB_NAME"},
	{"Slurm", "cluster", "", "SLURM_CLUSTER_NAME"},
	{"Slurm", "queue", "", "SLURM_JOB_PARTITION"},
	{"Slurm", "account", "", "SLURM_JOB_ACCOUNT"},
	{"Slurm", "quality_of_service", "", "SLURM_JOB_QOS"},
	{"Slurm", "reservation", "", "SLURM_JOB_RESERVATION"},
	{"Slurm", "job_nodes", "node", "SLURM_JOB_NUM_NODES"},
	{"Slurm", "job_tasks", "process", "SLURM_NTASKS"},
	{"Slurm", "tasks_per_node", "", "SLURM_TASKS_PER_NODE"},
	{"Slurm", "cpus_per_task", "cpu", "SLURM_CPUS_PER_TASK"},
	{"Slurm", "cpus_per_node", "", "SLURM_JOB_CPUS_PER_NODE"},
	{"Slurm", "memory_per_node", "MiB", "SLURM_MEM_PER_NODE"},
	{"Slurm", "memory_per_cpu", "MiB", "SLURM_MEM_PER_CPU"},
	{"Slurm", "node_list", "", "SLURM_JOB_NODELIST"},
	{"Slurm", "array_job", "", "SLURM_ARRAY_JOB_ID"},
	{"Slurm", "array_task", "", "SLURM_ARRAY_TASK_ID"},
	{"Slurm", "topology", "", "SLURM_TOPOLOGY_ADDR"},
	{"Slurm", "topology_pattern", "", "SLURM_TOPOLOGY_ADDR_PATTERN"},
	{"PBS", "job_id", "", "PBS_JOBID"},
	{"PBS", "job_name", "", "PBS_JOBNAME"},
	{"PBS", "cluster", "", "PBS_SERVER"},
	{"PBS", "queue", "", "PBS_QUEUE"},
	{"PBS", "account", "", "PBS_ACCOUNT"},
	{"PBS", "job_nodes", "node", "PBS_NUM_NODES"},
	{"PBS", "job_tasks", "process", "PBS_NP"},
	{"PBS", "tasks_per_node", "", "PBS_NUM_PPN"},
	{"PBS", "cpus_per_node", "", "NCPUS"},
	{"PBS", "array_job", "", "PBS_ARRAY_ID"},
	{"PBS", "array_task", "", "PBS_ARRAY_INDEX"},
	{"PBS", "array_task", "", "PBS_ARRAYID"}, /* Torque's */
	{"LSF", "job_id", "", "LSB_JOBID"},
	{"LSF", "job_name", "", "LSB_JOBNAME"},
	{"LSF", "queue", "", "LSB_QUEUE"},
	{"LSF", "account", "", "LSB_PROJECT_NAME"},
	{"LSF", "job_tasks", "process", "LSB_DJOB_NUMPROC"},
	{"LSF", "tasks_per_node", "", "LSB_MCPU_HOSTS"},
	{"LSF", "array_task", "", "LSB_JOBINDEX"},
	{"Flux", "job_id", "", "FLUX_JOB_ID"},
	{"Flux", "job_nodes", "node", "FLUX_JOB_NNODES"},
	{"Flux", "job_tasks", "process", "FLUX_JOB_SIZE"},
	/* clang-format on */
};

static const char *variable(const struct describing *d, const char *name)
{
	const char *value = d->from->variable(d->from->environment, name);
	return value && *value ? value : NULL;
}

/* LSF tells no number of hosts, but "hostA 4 hostB 4". */
static int64_t hosts_of_pairs(const char *text)
{
	int64_t words = 0;
	for (; *(text += strspn(text, " ")); text += strcspn(text, " "))
		words++;
	return words / 2;
}

static void add_allocation(struct describing *d)
{
	const char *scheduler = "", *pairs = variable(d, "LSB_MCPU_HOSTS");
	char value[256];
	for (size_t i = 0; i < sizeof allocation / sizeof *allocation; i++) {
		const char *of = allocation[i].scheduler, *set = variable(d, allocation[i].variable);
		bool first = !i || strcmp(of, allocation[i - 1].scheduler) != 0;
		if (first && set && !*scheduler)
			add(d, "scheduler", "", scheduler = of);
		if (strcmp(of, scheduler) != 0 || !set || (*allocation[i].unit && number_of(set) < 0))
			continue;
		if (!strcmp(allocation[i].variable, "LSB_JOBINDEX") && !strcmp(set, "0"))
			continue; /* of no array */
		snprintf(value, sizeof value, "%s", set);
		if (*allocation[i].unit)
			add_number(d, allocation[i].name, allocation[i].unit, number_of(set));
		else
			add(d, allocation[i].name, "", value);
	}
	if (!strcmp(scheduler, "LSF") && pairs)
		add_number(d, "job_nodes", "node", hosts_of_pairs(pairs));
}

int64_t platform_job_number(const char *text)
{
	static const char digits[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", f[] = "\u0192";
	const char *at = strncmp(text, f, sizeof f - 1) == 0 ? text + sizeof f - 1 : *text == 'f' ? text + 1 : NULL;
	uint64_t number = 0;
	for (; !at && *text >= '0' && *text <= '9'; text++) {
		if (number > INT64_MAX / 10 - 1)
			return 0;
		number = number * 10 + (uint64_t)(*text - '0');
	}
	for (const char *digit; at && *at; at++) {
		if (!(digit = strchr(digits, *at)) || number > INT64_MAX / 58 - 1)
			return 0;
		number = number * 58 + (uint64_t)(digit - digits);
	}
	return (int64_t)number;
}

int64_t platform_job(const struct platform_source *from, const char *name)
{
	const struct describing d = {.from = from};
	const char *value = name ? variable(&d, name) : NULL;
	for (size_t i = 0; !name && !value && i < sizeof allocation / sizeof *allocation; i++)
		if (strcmp(allocation[i].name, "job_id") == 0)
			value = variable(&d, allocation[i].variable);
	return value ? platform_job_number(value) : 0;
}

/* ---- containers ---- */

/* By a variable that the container's maker sets, or else by where it mounts things from and what it calls its groups. */
static const struct {
	const char *container, *variable, *mounted, *grouped;
} containers[] = {
	{"apptainer", "APPTAINER_CONTAINER", NULL, NULL},
	{"singularity", "SINGULARITY_CONTAINER", NULL, NULL},
	{"shifter", "SHIFTER_RUNTIME", NULL, NULL},
	{"kubernetes", "KUBERNETES_SERVICE_HOST", "/kubelet/pods/", "/kubepods"},
	{"podman", NULL, "/overlay-containers/", "/libpod-"},
	{"docker", NULL, "/docker/containers/", "/docker"},
	{"lxc", NULL, NULL, "/lxc"},
};

static const char *container_of(const struct describing *d)
{
	for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) {
		const char *by = containers[i].variable, *from = containers[i].mounted, *in = containers[i].grouped;
		if ((by && variable(d, by)) || (from && strstr(d->mounts, from)) || (in && strstr(d->groups, in)))
			return containers[i].container;
	}
	return variable(d, "container"); /* podman, systemd-nspawn and others say so */
}

static void add_container(struct describing *d)
{
	const char *container = container_of(d);
	const char *image = variable(d, "APPTAINER_CONTAINER");
	image = image ? image : variable(d, "SINGULARITY_CONTAINER");
	if (container)
		add(d, "container", "", container);
	if (image)
		add(d, "container_image", "", image);
}

size_t platform_describe(const struct platform_source *from, char to[PLATFORM_TEXT])
{
	char mounts[TABLE_MAX];
	struct describing d = {.from = from, .out = {to, 0, PLATFORM_TEXT - 1 - LEFT_OUT}, .mounts = mounts};
	read_text(&d, "/proc/self/mountinfo", mounts, sizeof mounts);
	read_text(&d, "/proc/self/cgroup", d.groups, sizeof d.groups);
	add(&d, "host", "", from->host);
	add_facts(&d);
	add_groups(&d);
	add_allocation(&d);
	add_fabric(&d);
	add_container(&d);
	add_mounts(&d);
	to[d.out.used] = '\0';
	return d.out.used;
}
