#include "live_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "live_keys.h"
#include "live_page.h"
#include "units.h"

enum { FILTER = 64, MOST_ROWS = 1000 };

struct screen {
	struct live l;
	struct output out;
	size_t width, height;
	double every, next; /* s: of the monotonic clock */
	bool paused, help, typing, done;
	bool fixed;   /* one job was asked for: there is no list to go back to */
	char job[40]; /* "" = the list */
	enum live_view view;
	char store[1024]; /* of a process whose files are shown; "" = none */
	uint64_t file;    /* whose processes are shown; 0 = none */
	struct live_order order[LIVE_VIEWS];
	char filter[FILTER];
	size_t selected, first;
	struct live_table table;
};

static const char help_text[] = "up down    choose a row                 Enter      open it: a job, a process, a file\n"
				"Tab        the next table               Esc        back\n"
				"s S        sort by the next, last one   r          the other way round\n"
				"/          only rows with a text        p          pause\n"
				"+ -        look more, less often        q          end\n";

/* ---- the terminal ---- */

static struct termios saved;
static int terminal = -1;
static volatile sig_atomic_t ended, resized;

static void on_end(int signal)
{
	ended = signal;
}

static void on_resize(int signal)
{
	resized = 1;
}

static void write_all(const char *text)
{
	size_t n = strlen(text);
	while (n) {
		ssize_t put = write(STDOUT_FILENO, text, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return;
		text += put;
		n -= (size_t)put;
	}
}

bool live_screen_possible(void)
{
	const char *kind = getenv("TERM");
	return isatty(STDOUT_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

/* Other screen, no cursor, no wrapping. */
static void take_terminal(void)
{
	struct sigaction end = {.sa_handler = on_end}, resize = {.sa_handler = on_resize};
	const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	for (size_t n = 0; n < sizeof signals / sizeof *signals; n++)
		sigaction(signals[n], &end, NULL);
	sigaction(SIGWINCH, &resize, NULL);
	terminal = isatty(STDIN_FILENO) ? STDIN_FILENO : open("/dev/tty", O_RDONLY | O_CLOEXEC);
	if (terminal >= 0 && tcgetattr(terminal, &saved) == 0) {
		struct termios raw = saved;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		tcsetattr(terminal, TCSAFLUSH, &raw);
	}
	write_all("\x1b[?1049h\x1b[?25l\x1b[?7l");
}

static void give_terminal_back(void)
{
	write_all("\x1b[?7h\x1b[?25h\x1b[?1049l");
	if (terminal >= 0)
		tcsetattr(terminal, TCSAFLUSH, &saved);
}

static void measure(struct screen *s)
{
	struct winsize size = {0};
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	s->width = size.ws_col > 1 ? size.ws_col - 1u
				   : 79; /* in the last column a line's end would be erased with its rest */
	s->height = size.ws_row ? size.ws_row : 24;
}

/* ---- drawing ---- */

static void end_line(struct screen *s)
{
	output_text(&s->out, "\x1b[0m\x1b[K\r\n");
}

static const struct live_job *shown_job(const struct screen *s)
{
	for (size_t n = 0; n < s->l.n && s->job[0]; n++)
		if (!strcmp(s->l.jobs[n].name, s->job))
			return &s->l.jobs[n];
	return NULL;
}

/* Lines that are ended by \n are many by \r\n here. */
static size_t put_lines(struct screen *s, const char *text)
{
	size_t lines = 0;
	for (; *text; lines++) {
		size_t n = strcspn(text, "\n");
		output_bytes(&s->out, text, n);
		end_line(s);
		text += n + (text[n] != 0);
	}
	return lines;
}

static void put_tabs(struct screen *s)
{
	for (int view = LIVE_FILES; view < LIVE_VIEWS; view++)
		output_format(&s->out, "%s %s \x1b[0m ", view == (int)s->view ? "\x1b[7m" : "", live_view_name(view));
	if (s->store[0])
		output_text(&s->out, " of one process");
	if (s->file)
		output_text(&s->out, " of one file");
	end_line(s);
}

static size_t put_above(struct screen *s, const struct live_job *j)
{
	enum { TALL = 30 };
	if (!s->job[0]) {
		live_put_sums(&s->out, &s->l, s->width);
		end_line(s);
		return 1 + live_put_silent(&s->out, &s->l, s->width, "\x1b[0m\x1b[K\r\n");
	}
	if (!j) {
		put_escaped(&s->out, s->job);
		output_text(&s->out, " has ended: iolens run leaves its log where it was asked to");
		end_line(s);
		return 1;
	}
	size_t lines = LIVE_HEAT_LINES + 1;
	lines += live_put_head(&s->out, &s->l, j, s->width, "\x1b[0m\x1b[K\r\n");
	lines += live_put_silent(&s->out, &s->l, s->width, "\x1b[0m\x1b[K\r\n");
	live_put_heat(&s->out, j, s->width, "\x1b[K\r\n");
	if (s->height >= TALL)
		lines += live_put_sizes(&s->out, j, s->width, "\x1b[K\r\n");
	put_tabs(s);
	return lines;
}

static void put_below(struct screen *s)
{
	if (s->typing)
		output_text(&s->out, "only rows with: ");
	else
		output_format(&s->out, "%severy %g s%s", s->paused ? "PAUSED  " : "", s->every,
			      *s->filter ? "  only: " : "");
	put_escaped(&s->out, s->filter);
	if (s->typing)
		output_text(&s->out, "_");
	else
		output_format(&s->out, "  %s  ? help  q end", COUNTED(s->table.n, "row"));
	output_text(&s->out, "\x1b[0m\x1b[K\x1b[J");
}

static void keep_selected_visible(struct screen *s, size_t rows)
{
	if (s->selected >= s->table.n)
		s->selected = s->table.n ? s->table.n - 1 : 0;
	if (s->selected < s->first)
		s->first = s->selected;
	if (rows && s->selected >= s->first + rows)
		s->first = s->selected - rows + 1;
}

static bool make_table(struct screen *s, const struct live_job *j)
{
	struct live_order *o = &s->order[s->view];
	o->filter = s->filter;
	o->store = s->store;
	o->file = s->file;
	live_table_free(&s->table);
	return live_table_make(&s->table, &s->l, j, s->view, o);
}

static bool draw(struct screen *s)
{
	const struct live_job *j = shown_job(s);
	output_text(&s->out, "\x1b[H");
	size_t used = put_above(s, j);
	if (!make_table(s, j))
		return false;
	if (s->help)
		used += put_lines(s, help_text);
	output_text(&s->out, "\x1b[1m");
	live_table_titles(&s->out, s->view, s->order[s->view].column, s->width);
	end_line(s);
	size_t rows = s->height > used + 2 ? s->height - used - 2 : 1;
	keep_selected_visible(s, rows);
	for (size_t n = s->first; n < s->table.n && n < s->first + rows; n++) {
		output_text(&s->out, n == s->selected ? "\x1b[7m" : "");
		live_table_row(&s->out, &s->table, n, s->width);
		end_line(s);
	}
	put_below(s);
	output_flush(&s->out);
	return true;
}

/* ---- what keys do ---- */

static void show_view(struct screen *s, enum live_view view)
{
	s->view = view;
	s->selected = s->first = 0;
}

static void open_selected(struct screen *s)
{
	const struct live_job *j = shown_job(s);
	if (s->selected >= s->table.n)
		return;
	size_t of = s->table.rows[s->selected].of;
	if (s->view == LIVE_JOBS) {
		snprintf(s->job, sizeof s->job, "%s", s->l.jobs[of].name);
		*s->filter = '\0';
		show_view(s, LIVE_FILES);
	} else if (j && s->view == LIVE_PROCESSES && !s->file) {
		snprintf(s->store, sizeof s->store, "%s", j->processes[of].store->path);
		show_view(s, LIVE_FILES);
	} else if (j && s->view == LIVE_FILES && !s->store[0]) {
		s->file = j->files[of].id;
		show_view(s, LIVE_PROCESSES);
	}
}

static void go_back(struct screen *s)
{
	if (s->help) {
		s->help = false;
	} else if (*s->filter) {
		*s->filter = '\0';
	} else if (s->store[0]) {
		s->store[0] = '\0';
		show_view(s, LIVE_PROCESSES);
	} else if (s->file) {
		s->file = 0;
		show_view(s, LIVE_FILES);
	} else if (s->job[0] && !s->fixed) {
		s->job[0] = '\0';
		show_view(s, LIVE_JOBS);
	}
}

static void next_view(struct screen *s, int step)
{
	int views = LIVE_VIEWS - LIVE_FILES;
	if (s->view == LIVE_JOBS)
		return;
	s->store[0] = '\0';
	s->file = 0;
	show_view(s, LIVE_FILES + (s->view - LIVE_FILES + views + step) % views);
}

/* From the usual order through all columns, and round. */
static void sort_by_next(struct screen *s, int step)
{
	struct live_order *o = &s->order[s->view];
	int n = live_view_columns(s->view) + 2;
	o->column = (o->column + 1 + n + step) % n - 1;
}

static void type(struct screen *s, int key)
{
	size_t n = strlen(s->filter);
	if (key == KEY_ENTER || key == KEY_ESCAPE)
		s->typing = false;
	if (key == KEY_ESCAPE)
		*s->filter = '\0';
	else if (key == KEY_BACKSPACE && n)
		s->filter[n - 1] = '\0';
	else if (key >= ' ' && key < 0x7f && n + 1 < sizeof s->filter)
		memcpy(s->filter + n, (const char[]){(char)key, '\0'}, 2);
	s->selected = s->first = 0;
}

static void move(struct screen *s, long step)
{
	long to = (long)s->selected + step;
	s->selected = to < 0 ? 0 : (size_t)to; /* drawing keeps it within the table */
}

static void change_interval(struct screen *s, double factor)
{
	double every = s->every * factor;
	s->every = every < 0.1 ? 0.1 : every > 3600 ? 3600 : every;
	s->next = 0;
}

/* False: it is no key that chooses a row. */
static bool choose(struct screen *s, int key)
{
	const struct {
		int key, letter;
		long step;
	} steps[] = {
		{KEY_UP, 'k', -1},
		{KEY_DOWN, 'j', 1},
		{KEY_PAGE_UP, 0, -(long)s->height / 2},
		{KEY_PAGE_DOWN, 0, (long)s->height / 2},
		{KEY_HOME, 0, -(long)s->table.n},
		{KEY_END, 0, (long)s->table.n},
	};
	for (size_t n = 0; n < sizeof steps / sizeof *steps; n++)
		if (key == steps[n].key || (steps[n].letter && key == steps[n].letter)) {
			move(s, steps[n].step);
			return true;
		}
	return false;
}

static void obey(struct screen *s, int key)
{
	if (s->typing) {
		type(s, key);
		return;
	}
	if (choose(s, key))
		return;
	switch (key) {
	case 'q':
		s->done = true;
		break;
	case KEY_ENTER:
		open_selected(s);
		break;
	case KEY_ESCAPE:
	case KEY_BACKSPACE:
	case KEY_LEFT:
		go_back(s);
		break;
	case KEY_TAB:
	case KEY_RIGHT:
		next_view(s, 1);
		break;
	case KEY_BACK_TAB:
		next_view(s, -1);
		break;
	case 's':
	case 'S':
		sort_by_next(s, key == 's' ? 1 : -1);
		break;
	case 'r':
		s->order[s->view].reversed = !s->order[s->view].reversed;
		break;
	case '/':
		s->typing = true;
		*s->filter = '\0';
		break;
	case 'p':
	case ' ':
		s->paused = !s->paused;
		break;
	case '+':
	case '-':
		change_interval(s, key == '+' ? 0.5 : 2);
		break;
	case '?':
	case 'h':
		s->help = !s->help;
		break;
	}
}

/* ---- until it ends ---- */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* For a key, a signal, or the next look. */
static void wait_for_key(struct screen *s)
{
	struct pollfd keys = {.fd = terminal, .events = POLLIN};
	char bytes[256];
	double wait = s->next - now();
	if (s->next > 0 && wait > 0 && poll(&keys, terminal >= 0, (int)(wait * 1e3) + 1) <= 0)
		return;
	if (s->next <= 0 || wait <= 0 || terminal < 0)
		return;
	ssize_t got = read(terminal, bytes, sizeof bytes);
	if (got == 0 && keys.revents & (POLLHUP | POLLERR))
		ended = SIGHUP;
	for (size_t at = 0; got > 0 && at < (size_t)got;) {
		int key;
		at += live_key(bytes + at, (size_t)got - at, &key);
		obey(s, key);
	}
}

static int look(struct screen *s, live_screen_look *take, void *context)
{
	if (now() < s->next)
		return 0;
	s->next = now() + s->every;
	return s->paused ? 0 : take(context, &s->l);
}

int live_screen_run(const char *wanted, double every, live_screen_look *take, void *context)
{
	struct screen s = {.every = every, .fixed = wanted};
	for (int view = 0; view < LIVE_VIEWS; view++)
		s.order[view].column = -1;
	int code = take(context, &s.l);
	if (code || (wanted && !s.l.n)) {
		live_free(&s.l);
		return code ? code : live_look_missed("top", wanted);
	}
	if (wanted && s.l.n == 1) {
		snprintf(s.job, sizeof s.job, "%s", s.l.jobs[0].name);
		s.view = LIVE_FILES;
	}
	s.fixed = s.job[0];
	if (!output_open(&s.out, STDOUT_FILENO))
		return cli_fail(CLI_INPUT, "top: not enough memory");
	take_terminal();
	/* The second look soon: there are no rates before it. */
	s.next = now() + (every < 0.25 ? every : 0.25);
	while (!code && !s.done && !ended && !s.out.error) {
		measure(&s);
		if (!draw(&s))
			break;
		wait_for_key(&s);
		code = look(&s, take, context);
	}
	output_close(&s.out);
	give_terminal_back();
	live_table_free(&s.table);
	live_free(&s.l);
	return code;
}
