#include "unwind.h"

#include <string.h>

#include "readable.h"

enum {
	RETURN = UNWIND_REGISTERS - 1,
	PAGE = 4096,
	PAGES = 32, /* known to be readable; a power of two */
	REMEMBERED = 4,
	KEPT = 16, /* rows of code that stays; a power of two */
	LARGEST_FRAME = 1 << 24,
	/* How addresses are written: all linkers' tables, and all compilers' entries of shared libraries, have these. */
	TABLE_KIND = 0x3b031b01,
	RELATIVE = 0x1b
};

/* Instructions of the tables: DW_CFA_*. */
enum {
	NOP,
	SET_LOCATION,
	ADVANCE_1,
	ADVANCE_2,
	ADVANCE_4,
	OFFSET,
	RESTORE,
	UNDEFINED,
	SAME_VALUE,
	REGISTER,
	REMEMBER_STATE,
	RESTORE_STATE,
	DEFINE,
	DEFINE_REGISTER,
	DEFINE_OFFSET,
	DEFINE_EXPRESSION,
	EXPRESSION,
	OFFSET_SIGNED,
	DEFINE_SIGNED,
	DEFINE_OFFSET_SIGNED,
	VALUE_OFFSET,
	VALUE_OFFSET_SIGNED,
	VALUE_EXPRESSION,
	KNOWN_INSTRUCTIONS,
	ARGUMENTS_SIZE = 0x2e,
	/* with a number in the low six bits */
	ADVANCE = 0x40,
	OFFSET_OF = 0x80,
	RESTORE_OF = 0xc0
};

/* Their operands: numbers of so many bytes, without (u) and with a sign (s), and expressions (b). NULL: it is not followed. */
static const char *const operands[KNOWN_INSTRUCTIONS] = {"",   NULL, "1",  "2", "4",  "uu", "u", "u",
							 "u",  "uu", "",   "",  "uu", "u",  "u", "b",
							 "ub", "us", "us", "s", "uu", "us", "ub"};

enum rule { SAME, SAVED, LOST };

/* Where the caller's registers are. */
struct row {
	int64_t above;                    /* the frame's end, CFA, is so far above the register `base` */
	uint64_t base;                    /* UNWIND_REGISTERS: it is not known */
	int64_t offset[UNWIND_REGISTERS]; /* of one that is saved, from the frame's end */
	uint8_t rule[UNWIND_REGISTERS];
};

/* What a function's entry has in common with others. */
struct common {
	uint64_t unit; /* of addresses */
	int64_t scale; /* of offsets */
};

/* Of the thread that walks, under its caller's lock: a page of stack may be all there is. */
static struct {
	uintptr_t page[PAGES];
	struct row row, first, remembered[REMEMBERED];
	struct {
		uintptr_t at;
		struct row row;
	} kept[KEPT];
	unsigned remembers;
} work;

/* ---- reading ---- */

static bool can_read(uintptr_t at, size_t n)
{
	for (uintptr_t page = at & ~(uintptr_t)(PAGE - 1); page < at + n; page += PAGE) {
		uintptr_t *known = &work.page[page / PAGE % PAGES];
		if (*known != page && !readable((const void *)page, 1))
			return false;
		*known = page;
	}
	return at >= PAGE && at + n > at;
}

struct reader {
	uintptr_t at, end;
	bool failed; /* it has read zeros since */
};

static struct reader read_at(const struct unwind_code *c, uintptr_t at)
{
	return (struct reader){at, c->to, at < c->from || at > c->to};
}

static uint64_t take(struct reader *r, size_t n)
{
	uint64_t value = 0;
	if (r->failed || n > r->end - r->at || !can_read(r->at, n)) {
		r->failed = true;
		return 0;
	}
	memcpy(&value, (const void *)r->at, n);
	r->at += n;
	return value;
}

static int64_t take_signed(struct reader *r)
{
	return (int32_t)take(r, 4);
}

static uint64_t take_number(struct reader *r, bool has_sign)
{
	uint64_t value = 0, byte = 0x80;
	for (unsigned shift = 0; byte & 0x80; shift += 7) {
		byte = take(r, 1);
		if (shift > 63) {
			r->failed = true;
			return 0;
		}
		value |= (byte & 0x7f) << shift;
		if (has_sign && byte & 0x40 && !(byte & 0x80) && shift < 57)
			value |= -(UINT64_C(1) << (shift + 7));
	}
	return value;
}

static void skip(struct reader *r, uint64_t n)
{
	if (r->failed || n > r->end - r->at)
		r->failed = true;
	else
		r->at += n;
}

/* ---- the table's instructions ---- */

struct instruction {
	unsigned what;
	uint64_t a, b;
};

static struct instruction take_instruction(struct reader *r)
{
	uint64_t byte = take(r, 1), low = byte & 0x3f;
	if ((byte & 0xc0) == ADVANCE)
		return (struct instruction){ADVANCE_1, low, 0};
	if ((byte & 0xc0) == OFFSET_OF)
		return (struct instruction){OFFSET, low, take_number(r, false)};
	if ((byte & 0xc0) == RESTORE_OF)
		return (struct instruction){RESTORE, low, 0};
	struct instruction in = {.what = (unsigned)byte};
	const char *kind = byte == ARGUMENTS_SIZE ? "u" : byte < KNOWN_INSTRUCTIONS ? operands[byte] : NULL;
	r->failed |= !kind;
	for (uint64_t *to = &in.a; kind && *kind; kind++, to = &in.b) {
		if (*kind == 'b')
			skip(r, take_number(r, false));
		else
			*to = *kind == 'u' || *kind == 's' ? take_number(r, *kind == 's')
							   : take(r, (size_t)(*kind - '0'));
	}
	return in;
}

static void set_rule(uint64_t n, enum rule rule, int64_t offset)
{
	if (n < UNWIND_REGISTERS) {
		work.row.rule[n] = (uint8_t)rule;
		work.row.offset[n] = offset;
	}
}

static void set_frame(uint64_t base, int64_t above)
{
	work.row.base = base;
	work.row.above = above;
}

/* False: there are too many states, or too few. */
static bool obey(struct instruction in, int64_t scale)
{
	int64_t a = (int64_t)in.a, b = (int64_t)in.b;
	switch (in.what) {
	case OFFSET:
	case OFFSET_SIGNED:
		set_rule(in.a, SAVED, b * scale);
		return true;
	case RESTORE:
		if (in.a < UNWIND_REGISTERS)
			set_rule(in.a, work.first.rule[in.a], work.first.offset[in.a]);
		return true;
	case SAME_VALUE:
		set_rule(in.a, SAME, 0);
		return true;
	case UNDEFINED:
	case REGISTER:
	case EXPRESSION:
	case VALUE_OFFSET:
	case VALUE_OFFSET_SIGNED:
	case VALUE_EXPRESSION:
		set_rule(in.a, LOST, 0);
		return true;
	case REMEMBER_STATE:
		if (work.remembers == REMEMBERED)
			return false;
		work.remembered[work.remembers++] = work.row;
		return true;
	case RESTORE_STATE:
		if (!work.remembers)
			return false;
		work.row = work.remembered[--work.remembers];
		return true;
	case DEFINE:
	case DEFINE_SIGNED:
		set_frame(in.a, in.what == DEFINE ? b : b * scale);
		return true;
	case DEFINE_REGISTER:
		set_frame(in.a, work.row.above);
		return true;
	case DEFINE_OFFSET:
	case DEFINE_OFFSET_SIGNED:
		set_frame(work.row.base, in.what == DEFINE_OFFSET ? a : a * scale);
		return true;
	case DEFINE_EXPRESSION:
		set_frame(UNWIND_REGISTERS, 0);
		return true;
	default:
		return true;
	}
}

/* Up to the row for the instruction that is so many bytes behind the function's begin. */
static bool run(struct reader r, const struct common *c, uint64_t distance)
{
	uint64_t reached = 0;
	while (!r.failed && r.at < r.end) {
		struct instruction in = take_instruction(&r);
		bool advances = in.what >= ADVANCE_1 && in.what <= ADVANCE_4;
		if (advances && (reached += in.a * c->unit) > distance)
			break;
		if (!advances && !obey(in, c->scale))
			return false;
	}
	return !r.failed;
}

/* ---- a function's entry ---- */

/* Where the entry for this instruction is; 0 = there is none. */
static uintptr_t find_entry(const struct unwind_code *c, uintptr_t instruction)
{
	struct reader r = read_at(c, c->table);
	if (take(&r, 4) != TABLE_KIND)
		return 0;
	take(&r, 4);
	uint64_t low = 0, n = take(&r, 4);
	uintptr_t rows = r.at;
	if (r.failed || n > (c->to - rows) / 8)
		return 0;
	while (low < n) {
		uint64_t middle = low + (n - low) / 2;
		r.at = rows + middle * 8;
		if (c->table + (uintptr_t)take_signed(&r) <= instruction)
			low = middle + 1;
		else
			n = middle;
	}
	r.at = rows + (low - 1) * 8 + 4;
	uintptr_t entry = low ? c->table + (uintptr_t)take_signed(&r) : 0;
	return r.failed ? 0 : entry;
}

static struct reader open_entry(const struct unwind_code *c, uintptr_t at)
{
	struct reader r = read_at(c, at);
	uint64_t n = take(&r, 4);
	if (!n || n > r.end - r.at)
		r.failed = true;
	else
		r.end = r.at + n;
	return r;
}

/* The address of the function for exceptions. */
static void skip_personality(struct reader *r)
{
	uint64_t size = take(r, 1) & 0xf;
	if (size == 0 || size == 4 || size == 12)
		skip(r, 8);
	else if (size == 3 || size == 11)
		skip(r, 4);
	else
		r->failed = true;
}

/* Then the reader is at its instructions. */
static bool take_common(struct reader *r, struct common *c)
{
	char kind[8];
	size_t n = 0;
	uint64_t id = take(r, 4), version = take(r, 1), relative = 0;
	while ((kind[n] = (char)take(r, 1)) && ++n < sizeof kind)
		;
	c->unit = take_number(r, false);
	c->scale = (int64_t)take_number(r, true);
	uint64_t register_of_return = version == 1 ? take(r, 1) : take_number(r, false);
	if (id || (version != 1 && version != 3) || n == sizeof kind || kind[0] != 'z' || register_of_return != RETURN)
		return false;
	uint64_t size = take_number(r, false);
	struct reader rest = *r;
	skip(&rest, size);
	for (n = 1; kind[n]; n++)
		if (kind[n] == 'R')
			relative = take(r, 1);
		else if (kind[n] == 'P')
			skip_personality(r);
		else if (kind[n] == 'L')
			take(r, 1);
		else /* a signal handler's frame, or what is not known */
			return false;
	bool good = !r->failed && r->at <= rest.at && relative == RELATIVE;
	*r = rest;
	return good && !r->failed;
}

/* Into the row of `work`. */
static bool find_row(const struct unwind_code *code, uintptr_t instruction)
{
	struct common c;
	struct reader r = open_entry(code, find_entry(code, instruction));
	uintptr_t here = r.at;
	uint64_t back = take(&r, 4);
	if (r.failed || !back || back > here - code->from)
		return false;
	struct reader shared = open_entry(code, here - back);
	if (!take_common(&shared, &c))
		return false;
	uintptr_t begin = r.at + (uintptr_t)take_signed(&r);
	uint64_t size = take(&r, 4);
	skip(&r, take_number(&r, false));
	if (r.failed || instruction < begin || instruction - begin >= size)
		return false;
	memset(&work.row, 0, sizeof work.row);
	work.row.base = UNWIND_REGISTERS;
	work.remembers = 0;
	if (!run(shared, &c, UINT64_MAX))
		return false;
	work.first = work.row;
	return run(r, &c, instruction - begin);
}

static bool know_row(const struct unwind_code *code, uintptr_t at)
{
	size_t place = at % KEPT;
	if (code->stays && work.kept[place].at == at) {
		work.row = work.kept[place].row;
		return true;
	}
	if (!find_row(code, at - 1))
		return false;
	if (code->stays) {
		work.kept[place].at = at;
		work.kept[place].row = work.row;
	}
	return true;
}

/* ---- a step ---- */

/* A call with a relative address, or by a register or memory. */
static bool follows_call(uintptr_t at)
{
	enum { LONGEST = 7 };
	const uint8_t *end = (const uint8_t *)at;
	if (!can_read(at - LONGEST, LONGEST))
		return false;
	for (int n = 2; n <= LONGEST; n++)
		if (end[-n] == 0xff && (end[-n + 1] >> 3 & 7) == 2)
			return true;
	return end[-5] == 0xe8;
}

void unwind_begin(void)
{
	memset(work.page, 0, sizeof work.page);
}

bool unwind_step(struct unwind_frame *f, const struct unwind_code *code)
{
	const struct row *row = &work.row;
	if (!know_row(code, f->at) || row->base >= UNWIND_REGISTERS || !(f->known >> row->base & 1) ||
	    row->rule[RETURN] != SAVED)
		return false;
	uintptr_t end = f->word[row->base] + (uintptr_t)row->above;
	if (end <= f->word[UNWIND_STACK] || end - f->word[UNWIND_STACK] > LARGEST_FRAME || end % sizeof end)
		return false;
	for (unsigned n = 0; n < UNWIND_REGISTERS; n++) {
		uintptr_t saved = end + (uintptr_t)row->offset[n];
		if (row->rule[n] == SAVED && (saved % sizeof saved || !can_read(saved, sizeof saved)))
			return false;
		if (row->rule[n] == SAVED)
			memcpy(&f->word[n], (const void *)saved, sizeof saved);
		if (row->rule[n] != SAME)
			f->known = (f->known & ~(1u << n)) | (uint32_t)(row->rule[n] == SAVED) << n;
	}
	f->word[UNWIND_STACK] = end;
	f->known |= 1u << UNWIND_STACK;
	f->at = f->word[RETURN];
	return follows_call(f->at);
}
