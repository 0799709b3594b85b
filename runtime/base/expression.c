#include "expression.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

enum { STEPS = 1024, WORDS = STEPS / 64, SETS = 128, DEEPEST = 64, ENDLESS = -1 };

enum kind { SET, EMPTY_AT, FORK, MATCHED };
enum place { TEXT_START, TEXT_END, WORD_EDGE, NO_WORD_EDGE, WORD_START, WORD_END };

/* A state of the automaton. Where a fork leads is counted from itself, so that pieces can be moved and copied. */
struct step {
	uint8_t kind;
	uint8_t place;
	uint8_t set;
	int16_t to[2];
};

struct set {
	uint64_t bits[4];
};

struct expression {
	struct step *step;
	struct set *set;
	int steps;
};

/* ---- making ---- */

struct maker {
	const char *at;
	struct step step[STEPS];
	struct set set[SETS];
	int steps, sets, depth;
	bool bad;
	bool empty; /* the last atom was a place, which cannot be repeated */
};

static void add(struct maker *m, struct step s)
{
	if (m->steps == STEPS)
		m->bad = true;
	else
		m->step[m->steps++] = s;
}

static void add_set(struct maker *m, const struct set *set)
{
	int n = 0;
	while (n < m->sets && memcmp(&m->set[n], set, sizeof *set) != 0)
		n++;
	if (n == SETS) {
		m->bad = true;
		return;
	}
	m->set[n] = *set;
	m->sets = n == m->sets ? n + 1 : m->sets;
	add(m, (struct step){.kind = SET, .set = (uint8_t)n});
}

static void include(struct set *set, int first, int last)
{
	for (int c = first; c <= last; c++)
		set->bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

/* Ranges by their first and last byte. */
static void include_ranges(struct set *set, const char *ranges)
{
	for (; *ranges; ranges += 2)
		include(set, ranges[0], ranges[1]);
}

static void complement(struct set *set)
{
	for (int i = 0; i < 4; i++)
		set->bits[i] = ~set->bits[i];
	set->bits[0] &= ~UINT64_C(1);
}

/* Room for a step in front of those from `from` on. */
static void insert(struct maker *m, int from, struct step s)
{
	add(m, s);
	if (m->bad)
		return;
	memmove(m->step + from + 1, m->step + from, (size_t)(m->steps - 1 - from) * sizeof s);
	m->step[from] = s;
}

static void copy(struct maker *m, const struct step *piece, int n)
{
	for (int i = 0; i < n; i++)
		add(m, piece[i]);
}

static bool named_class(struct maker *m, struct set *set)
{
	/* Those of ASCII, in texts: a pointer to each of libc's functions would be looked up in every process that starts. */
	static const struct {
		char name[9], ranges[9];
	} classes[] = {
		{"alpha:]", "AZaz"}, {"digit:]", "09"},     {"alnum:]", "09AZaz"},        {"upper:]", "AZ"},
		{"lower:]", "az"},   {"space:]", "\t\r  "}, {"blank:]", "\t\t  "},        {"punct:]", "!/:@[`{~"},
		{"print:]", " ~"},   {"graph:]", "!~"},     {"cntrl:]", "\1\37\177\177"}, {"xdigit:]", "09AFaf"}};
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		size_t n = strlen(classes[i].name);
		if (strncmp(m->at, classes[i].name, n) == 0) {
			include_ranges(set, classes[i].ranges);
			m->at += n;
			return true;
		}
	}
	return false;
}

/* One end of a range: a byte, [.x.] or [=x=]; 0 = there is none. */
static int element(struct maker *m)
{
	int c = (unsigned char)*m->at;
	if (c == '[' && (m->at[1] == '.' || m->at[1] == '=')) {
		char mark = m->at[1];
		c = (unsigned char)m->at[2];
		if (!c || m->at[3] != mark || m->at[4] != ']')
			return 0;
		m->at += 4;
	}
	if (c)
		m->at++;
	return c;
}

static void member(struct maker *m, struct set *set)
{
	if (m->at[0] == '[' && m->at[1] == ':') {
		m->at += 2;
		m->bad = !named_class(m, set) || m->bad;
		return;
	}
	int first = element(m), last = first;
	if (first && m->at[0] == '-' && m->at[1] != ']') {
		m->at++;
		last = element(m);
	}
	m->bad = m->bad || !first || first > last;
	if (!m->bad)
		include(set, first, last);
}

static void bracket(struct maker *m)
{
	struct set set = {0};
	bool others = *m->at == '^';
	m->at += others;
	do
		member(m, &set);
	while (!m->bad && *m->at != ']');
	m->at += !m->bad;
	if (others)
		complement(&set);
	add_set(m, &set);
}

static void place(struct maker *m, enum place where)
{
	add(m, (struct step){.kind = EMPTY_AT, .place = where});
	m->empty = true;
}

static void escape(struct maker *m)
{
	static const char places[] = {'`', '\'', 'b', 'B', '<', '>'};
	struct set set = {0};
	int c = (unsigned char)*m->at;
	const char *where = c ? memchr(places, c, sizeof places) : NULL;
	m->bad = m->bad || !c;
	m->at += c != 0;
	if (where) {
		place(m, (enum place)(where - places));
		return;
	}
	if (c == 'w' || c == 'W')
		include_ranges(&set, "09AZaz__");
	else if (c == 's' || c == 'S')
		include_ranges(&set, "\t\r  ");
	else
		include(&set, c, c);
	if (c == 'W' || c == 'S')
		complement(&set);
	add_set(m, &set);
}

static void alternatives(struct maker *m);

static void group(struct maker *m)
{
	if (++m->depth > DEEPEST)
		m->bad = true;
	else
		alternatives(m);
	m->depth--;
	m->empty = false;
	m->bad = m->bad || *m->at != ')';
	m->at += !m->bad;
}

static void atom(struct maker *m)
{
	struct set set = {0};
	int c = (unsigned char)*m->at++;
	m->empty = false;
	if (c == '(')
		group(m);
	else if (c == '[')
		bracket(m);
	else if (c == '\\')
		escape(m);
	else if (c == '^' || c == '$')
		place(m, c == '^' ? TEXT_START : TEXT_END);
	else if (strchr("*+?{", c))
		m->bad = true;
	else {
		include(&set, c == '.' ? 1 : c, c == '.' ? 255 : c);
		add_set(m, &set);
	}
}

/* At least, and at most; the brace is behind us. */
static bool bounds(struct maker *m, int *least, int *most)
{
	char *end;
	*least = (*m->at >= '0' && *m->at <= '9') ? (int)strtol(m->at, &end, 10) : ENDLESS;
	if (*least == ENDLESS)
		return false;
	m->at = end;
	*most = *least;
	if (*m->at == ',') {
		m->at++;
		*most = (*m->at >= '0' && *m->at <= '9') ? (int)strtol(m->at, &end, 10) : ENDLESS;
		m->at = *most == ENDLESS ? m->at : end;
	}
	return *m->at++ == '}' && *least <= STEPS && *most <= STEPS && (*most == ENDLESS || *least <= *most);
}

static bool quantifier(struct maker *m, int *least, int *most)
{
	char c = *m->at;
	*least = c == '+';
	*most = c == '?' ? 1 : ENDLESS;
	if (!c || !strchr("*+?{", c))
		return false;
	m->at++;
	if (c == '{' && !bounds(m, least, most))
		m->bad = true;
	return !m->bad;
}

/* A fork around the piece that begins at `from`: past it, and for a loop back to it. */
static void optional(struct maker *m, int from, bool loop)
{
	int n = m->steps - from;
	insert(m, from, (struct step){.kind = FORK, .to = {1, (int16_t)(n + 1 + loop)}});
	if (loop)
		add(m, (struct step){.kind = FORK, .to = {(int16_t)(-n - 1), (int16_t)(-n - 1)}});
}

__attribute__((noinline)) static void repeat(struct maker *m, int from, int least, int most)
{
	struct step piece[STEPS];
	int n = m->steps - from;
	memcpy(piece, m->step + from, (size_t)n * sizeof *piece);
	m->steps = from;
	for (int i = 0; i < least && !m->bad; i++)
		copy(m, piece, n);
	for (int i = least; (most == ENDLESS ? i == least : i < most) && !m->bad; i++) {
		int begin = m->steps;
		copy(m, piece, n);
		optional(m, begin, most == ENDLESS);
	}
}

static void sequence(struct maker *m)
{
	int least, most;
	while (!m->bad && *m->at && *m->at != '|' && !(*m->at == ')' && m->depth)) {
		int from = m->steps;
		atom(m);
		while (!m->bad && quantifier(m, &least, &most)) {
			m->bad = m->empty;
			repeat(m, from, least, most);
		}
	}
}

static void alternatives(struct maker *m)
{
	int from = m->steps;
	sequence(m);
	if (m->bad || *m->at != '|')
		return;
	m->at++;
	insert(m, from, (struct step){.kind = FORK, .to = {1, (int16_t)(m->steps - from + 2)}});
	int jump = m->steps;
	add(m, (struct step){.kind = FORK});
	alternatives(m);
	if (!m->bad)
		m->step[jump].to[0] = m->step[jump].to[1] = (int16_t)(m->steps - jump);
}

static const struct expression *keep(const struct maker *m)
{
	size_t steps = (size_t)m->steps * sizeof *m->step, sets = (size_t)m->sets * sizeof *m->set;
	struct expression *e = arena_take(sizeof *e);
	struct set *set = arena_take(sets + 1);
	struct step *step = arena_take(steps);
	if (!e || !set || !step)
		return NULL;
	memcpy(set, m->set, sets);
	memcpy(step, m->step, steps);
	*e = (struct expression){step, set, m->steps};
	return e;
}

const struct expression *expression_make(const char *text)
{
	struct maker m = {.at = text};
	alternatives(&m);
	add(&m, (struct step){.kind = MATCHED});
	return m.bad ? NULL : keep(&m);
}

/* ---- matching: all states at once ---- */

struct states {
	uint64_t bits[WORDS];
};

static void enter(struct states *s, int n)
{
	s->bits[n >> 6] |= UINT64_C(1) << (n & 63);
}

/* Takes one out; -1 = there is none. */
static int leave(struct states *s, int words)
{
	for (int i = 0; i < words; i++)
		if (s->bits[i]) {
			int n = i * 64 + __builtin_ctzll(s->bits[i]);
			s->bits[i] &= s->bits[i] - 1;
			return n;
		}
	return -1;
}

static bool is_word(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool holds(enum place where, const char *text, const char *at)
{
	bool before = at > text && is_word((unsigned char)at[-1]) && (unsigned char)at[-1] < 128;
	bool after = (unsigned char)*at < 128 && is_word((unsigned char)*at);
	switch (where) {
	case TEXT_START:
		return at == text;
	case TEXT_END:
		return !*at;
	case WORD_EDGE:
		return before != after;
	case NO_WORD_EDGE:
		return before == after;
	case WORD_START:
		return !before && after;
	case WORD_END:
		return before && !after;
	}
	return false;
}

bool expression_found(const struct expression *e, const char *text)
{
	struct states now = {{0}};
	int words = (e->steps + 63) / 64;
	for (const char *at = text;; at++) {
		struct states seen = {{0}}, next = {{0}};
		int n;
		enter(&now, 0);
		while ((n = leave(&now, words)) >= 0) {
			const struct step *s = &e->step[n];
			if (seen.bits[n >> 6] >> (n & 63) & 1)
				continue;
			enter(&seen, n);
			if (s->kind == MATCHED)
				return true;
			if (s->kind == FORK) {
				enter(&now, n + s->to[0]);
				enter(&now, n + s->to[1]);
			} else if (s->kind == EMPTY_AT && holds((enum place)s->place, text, at))
				enter(&now, n + 1);
			else if (s->kind == SET && e->set[s->set].bits[(unsigned char)*at >> 6] >> (*at & 63) & 1)
				enter(&next, n + 1);
		}
		if (!*at)
			return false;
		now = next;
	}
}
