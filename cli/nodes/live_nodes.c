#include "live_nodes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "index.h"
#include "live_frame.h"

enum { FIRST_ANSWER = 15, ANSWER = 3 }; /* s that all nodes together have for it */

struct node {
	struct live_node told;
	pid_t pid; /* of what leads there; 0 = it has ended */
	int in, out, complaints;
	bool asked, late;              /* no answer yet; nor when the last look was over */
	struct log_bytes coming, last; /* bytes so far; the latest whole frame */
};

struct live_nodes {
	struct node *nodes;
	size_t n;
	bool looked;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- starting ---- */

static bool is_name(const char *name, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (!isalnum((unsigned char)name[k]) && !strchr("._:@-", name[k]))
			return false;
	return n > 0 && n < sizeof((struct live_node *)0)->name && *name != '-';
}

/* What the shell runs: `through` with the node's name, then this program. False: too long. */
static bool make_command(const char *through, const char *name, char *to, size_t room)
{
	char self[1024];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	size_t used = (size_t)snprintf(to, room, "exec ");
	bool named = false;
	self[length > 0 ? length : 0] = '\0';
	for (const char *at = through; *at && used + 1 < room; at++) {
		bool here = at[0] == '%' && at[1] == 'h';
		used += here ? (size_t)snprintf(to + used, room - used, "%s", name)
			     : (size_t)snprintf(to + used, room - used, "%c", *at);
		named = named || here;
		at += here;
	}
	if (used < room)
		used += (size_t)snprintf(to + used, room - used, " %s%s'%s' top --answer", named ? "" : name,
					 named ? "" : " ", length > 0 ? self : "iolens");
	return used < room;
}

static _Noreturn void become(const char *command, int in, int out, int complaints)
{
	const int set[3] = {in, out, complaints};
	for (int n = 0; n < 3; n++)
		dup2(set[n], n);
	signal(SIGINT, SIG_IGN); /* of the terminal's: it ends with its standard input */
	signal(SIGPIPE, SIG_DFL);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* Not memfd_create: neither glibc 2.17 nor the kernels beside it have that. */
static int nameless_file(void)
{
	FILE *file = tmpfile();
	const int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;
	if (file)
		fclose(file);
	return fd;
}

static bool start(struct node *node, const char *command)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};
	node->complaints = nameless_file();
	bool good = node->complaints >= 0 && pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0;
	node->pid = good ? fork() : -1;
	if (node->pid == 0)
		become(command, in[0], out[1], node->complaints);
	close(in[0]);
	close(out[1]);
	node->in = in[1];
	node->out = out[0];
	if (good)
		fcntl(node->out, F_SETFL, O_NONBLOCK);
	return node->pid > 0;
}

struct live_nodes *live_nodes_start(const char *list, const char *through, struct log_error *err)
{
	struct live_nodes *all = calloc(1, sizeof *all);
	char command[4096];
	signal(SIGPIPE, SIG_IGN);
	for (const char *at = list; all && *at; at += strcspn(at, ","), at += *at == ',') {
		size_t n = strcspn(at, ",");
		if (!is_name(at, n)) {
			char name[80];
			snprintf(name, sizeof name, "\"%.*s\"", (int)n, at);
			log_fail(err, LOG_E_USAGE, LOG_NOWHERE, name, " is no name of a node");
			goto failed;
		}
		if (!index_grow(&all->nodes, all->n, sizeof *all->nodes))
			break;
		struct node *node = &all->nodes[all->n++];
		*node = (struct node){.in = -1, .out = -1, .complaints = -1};
		memcpy(node->told.name, at, n);
		if (!make_command(through, node->told.name, command, sizeof command) || !start(node, command)) {
			log_fail(err, LOG_E_IO, LOG_NOWHERE, "cannot start \"", through, "\": ", strerror(errno));
			goto failed;
		}
	}
	if (all && all->n)
		return all;
	log_fail(err, LOG_E_USAGE, LOG_NOWHERE, "no nodes are given");
failed:
	live_nodes_end(all);
	return NULL;
}

static void close_node(struct node *node)
{
	const int open[3] = {node->in, node->out, node->complaints};
	for (int n = 0; n < 3; n++)
		if (open[n] >= 0)
			close(open[n]);
	node->in = node->out = node->complaints = -1;
}

void live_nodes_end(struct live_nodes *all)
{
	for (size_t n = 0; all && n < all->n; n++) {
		struct node *node = &all->nodes[n];
		close_node(node);
		if (node->pid > 0 && waitpid(node->pid, NULL, WNOHANG) == 0)
			kill(node->pid, SIGTERM);
		log_bytes_free(&node->coming);
		log_bytes_free(&node->last);
	}
	if (all)
		log_free(all->nodes);
	free(all);
}

/* ---- one look ---- */

/* What another node says goes to terminals. */
static void make_plain(char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			*text = '?';
}

/* The last line that it has complained with, or how it ended. */
static void has_ended(struct node *node)
{
	char text[2048] = "", *line = text;
	int status = 0;
	off_t end = lseek(node->complaints, 0, SEEK_END), from = end > 2047 ? end - 2047 : 0;
	ssize_t got = end > 0 ? pread(node->complaints, text, sizeof text - 1, from) : 0;
	for (text[got > 0 ? got : 0] = '\0'; got > 0 && strchr("\r\n ", text[got - 1]); text[got] = '\0')
		got--;
	for (char *at; (at = strpbrk(line, "\r\n")); line = at + 1)
		;
	waitpid(node->pid, &status, 0);
	node->pid = 0;
	snprintf(node->told.problem, sizeof node->told.problem, *line ? "not reached: %.180s" : "has ended%.0s", line);
	if (!*line && WIFEXITED(status) && WEXITSTATUS(status))
		snprintf(node->told.problem, sizeof node->told.problem, "has ended with exit code %d",
			 WEXITSTATUS(status));
	make_plain(node->told.problem);
	close_node(node);
}

static void give_up(struct node *node, const char *why)
{
	snprintf(node->told.problem, sizeof node->told.problem, "%s", why);
	make_plain(node->told.problem);
	kill(node->pid, SIGTERM);
	waitpid(node->pid, NULL, 0);
	node->pid = 0;
	close_node(node);
}

/* Reads what there is; a whole frame becomes the node's last one. */
static void hear(struct node *node)
{
	struct log_error err;
	char bytes[1 << 16];
	size_t begins;
	ssize_t got = read(node->out, bytes, sizeof bytes);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		has_ended(node);
		return;
	}
	struct log_bytes *c = &node->coming;
	if (log_bytes_add(c, bytes, (size_t)got) < 0) {
		give_up(node, "not enough memory");
		return;
	}
	int64_t whole = live_frame_whole(c->at, c->used, &begins, &err);
	if (whole < 0)
		give_up(node, err.message);
	if (whole <= 0)
		return;
	log_bytes_free(&node->last);
	node->last = *c;
	memmove(node->last.at, node->last.at + begins, (size_t)whole);
	node->last.used = (size_t)whole;
	node->coming = (struct log_bytes){0};
	node->asked = node->late = false;
	node->told.problem[0] = '\0';
}

/* What has ended already is heard of when its answer is waited for. */
static void ask(struct node *node)
{
	if (node->pid <= 0 || node->asked)
		return;
	node->asked = true;
	if (write(node->in, "\n", 1) != 1)
		node->late = false;
}

/* Those who were late last time are not waited for again. */
static void wait_for_answers(struct live_nodes *all, double until)
{
	struct pollfd *polled = calloc(all->n, sizeof *polled);
	for (bool waiting = true; polled && waiting;) {
		double left = until - now();
		waiting = false;
		for (size_t n = 0; n < all->n; n++) {
			struct node *node = &all->nodes[n];
			bool open = node->pid > 0 && node->asked;
			polled[n] = (struct pollfd){.fd = open ? node->out : -1, .events = POLLIN};
			waiting = waiting || (open && !node->late);
		}
		int ready = poll(polled, all->n, waiting && left > 0 ? (int)(left * 1e3) + 1 : 0);
		for (size_t n = 0; ready > 0 && n < all->n; n++)
			if (polled[n].revents)
				hear(&all->nodes[n]);
		if (left <= 0 && ready <= 0)
			break;
		waiting = waiting || ready > 0;
	}
	free(polled);
	for (size_t n = 0; n < all->n; n++) {
		struct node *node = &all->nodes[n];
		if (node->pid > 0 && node->asked) {
			node->late = true;
			snprintf(node->told.problem, sizeof node->told.problem, "does not answer");
		}
	}
}

/* The same store told by two nodes, whose stores lie where both see them: the one that knows its process. */
static int by_process(const void *x, const void *y)
{
	const struct live_store *a = x, *b = y;
	int host = strcmp(a->process.host, b->process.host);
	if (host)
		return host;
	if (a->process.started != b->process.started)
		return a->process.started < b->process.started ? -1 : 1;
	if (a->process.pid != b->process.pid)
		return a->process.pid < b->process.pid ? -1 : 1;
	return (a->pid == 0) - (b->pid == 0);
}

static bool same_process(const struct live_store *a, const struct live_store *b)
{
	const char *x = strchr(a->path, '/'), *y = strchr(b->path, '/');
	return !strcmp(a->process.host, b->process.host) && a->process.started == b->process.started &&
	       a->process.pid == b->process.pid && x && y && !strcmp(x, y);
}

static void drop_repeated(struct live_look *l)
{
	size_t kept = 0;
	if (l->n)
		qsort(l->stores, l->n, sizeof *l->stores, by_process);
	for (size_t n = 0; n < l->n; n++) {
		if (kept && same_process(&l->stores[kept - 1], &l->stores[n])) {
			live_store_free(&l->stores[n]);
			continue;
		}
		if (kept != n)
			l->stores[kept] = l->stores[n];
		kept++;
	}
	l->n = kept;
}

int live_nodes_look(struct live_nodes *all, struct live_look *l, struct live_names *names, struct log_error *err)
{
	struct timespec t;
	int answered = 0;
	clock_gettime(CLOCK_REALTIME, &t);
	*l = (struct live_look){.now = (double)t.tv_sec + (double)t.tv_nsec * 1e-9};
	l->nodes = log_alloc(all->n * sizeof *l->nodes);
	if (!l->nodes)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	for (size_t n = 0; n < all->n; n++)
		ask(&all->nodes[n]);
	l->at = now();
	wait_for_answers(all, l->at + (all->looked ? ANSWER : FIRST_ANSWER));
	all->looked = true;
	for (size_t n = 0; n < all->n; n++) {
		struct node *node = &all->nodes[n];
		if (node->last.used &&
		    live_frame_read(l, names, node->told.name, node->last.at, node->last.used, err) < 0 &&
		    node->pid > 0)
			give_up(node, err->message);
		l->nodes[l->nnodes++] = node->told;
		answered += !node->told.problem[0];
	}
	drop_repeated(l);
	live_look_sort(l);
	return answered;
}

int live_nodes_answer(int in, int out, struct live_names *names, struct log_error *err)
{
	struct output answers;
	size_t told = 0;
	char asked[256];
	ssize_t got;
	if (!output_open(&answers, out))
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	while ((got = read(in, asked, sizeof asked)) > 0 && !answers.error) {
		struct live_look look;
		int code = live_look_take(&look, names, err);
		if (code < 0) {
			output_close(&answers);
			return code;
		}
		live_frame_put(&answers, &look, names, &told);
		live_look_free(&look);
	}
	output_close(&answers);
	return 0;
}

/* ---- the scheduler's list ---- */

bool live_nodes_of_slurm(const char *job, char *list, size_t room)
{
	char command[300], line[128];
	size_t used = 0;
	if (!*job || job[strspn(job, "0123456789")])
		return false;
	snprintf(command, sizeof command,
		 "nodes=$(timeout 20 squeue -h -t R -j %.20s -o %%N 2>/dev/null) && [ \"$nodes\" ] && "
		 "timeout 20 scontrol show hostnames \"$nodes\" 2>/dev/null",
		 job);
	FILE *in = popen(command, "re");
	while (in && fgets(line, sizeof line, in)) {
		size_t n = strcspn(line, "\n");
		if (n && used + n + 2 < room)
			used += (size_t)snprintf(list + used, room - used, "%s%.*s", used ? "," : "", (int)n, line);
	}
	return in && pclose(in) == 0 && used > 0;
}
