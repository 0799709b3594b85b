#include <string.h>

#include "bits.h"
#include "columns.h"
#include "error.h"

enum {
	SAMPLE = 256, /* rows on which the way is chosen */
	MIDDLE = 31,  /* of them for the number in the middle */
	LONGEST = 96, /* bits of one number */
	HEAD = 512,   /* bits of a column before its numbers */
	NO_SCALE = 255,
	SCALE_ROWS = 16, /* fewer have a scale of SCALE_FIRST at least: telling another one takes seven bits */
};

struct writing {
	struct log_bytes *out;
	struct bit_sink sink;
	uint64_t n; /* numbers of a column */
	uint32_t columns, width;
	uint64_t *at;      /* columns one behind the other */
	uint64_t *differs; /* of one column */
	uint8_t *scale;    /* of the words of a row; NO_SCALE = no double */
	bool *varies;      /* by column */
};

struct coding {
	enum column_code code;
	unsigned k;
	unsigned keep; /* CODE_LENGTH: highest bits; CODE_RARE: how many */
	bool sign;
	uint64_t base, bits;
};

static unsigned number_bits(uint64_t number)
{
	unsigned length = bit_length(zigzag(number));
	return length ? 6 + length : 1;
}

static void put_number(struct bit_sink *to, uint64_t number)
{
	uint64_t value = zigzag(number);
	unsigned length = bit_length(value);
	bits_put(to, length > 0, 1);
	if (!length)
		return;
	bits_put(to, length - 1, 6);
	bits_put_long(to, value ^ UINT64_C(1) << (length - 1), length - 1);
}

/* ---- which way is the shortest ---- */

struct numbers {
	const uint64_t *at;
	uint64_t n;
};

static void consider(struct coding *best, struct coding c)
{
	if (c.bits < best->bits)
		*best = c;
}

static uint64_t rice_bits(uint64_t value, unsigned k)
{
	uint64_t quotient = value >> k;
	return quotient < COLUMNS_UNARY ? quotient + 1 + k : COLUMNS_UNARY + 64;
}

/* Rice codes of the numbers above the base, or of their distances from it; k by the mean, and its neighbours. */
static void consider_rice(struct coding *best, struct numbers x, uint64_t base, bool sign)
{
	double sum = 0;
	if (9 + number_bits(base) + x.n >= best->bits)
		return;
	for (uint64_t i = 0; i < x.n; i++)
		sum += (double)(sign ? zigzag(x.at[i] - base) : x.at[i] - base);
	double mean = sum / (double)x.n;
	unsigned k = mean < 0x1p62 ? bit_length((uint64_t)(mean * 0.7)) : 62, first = k ? k - 1 : 0;
	for (k = first; k < first + 3 && k < 64; k++) {
		struct coding c = {CODE_RICE + sign, k, 0, false, base, 9 + number_bits(base)};
		for (uint64_t i = 0; i < x.n && c.bits < best->bits; i++)
			c.bits += rice_bits(sign ? zigzag(x.at[i] - base) : x.at[i] - base, k);
		consider(best, c);
	}
}

static void consider_lengths(struct coding *best, struct numbers x, bool sign)
{
	unsigned longest = 0, keep = 0;
	uint64_t low = 0;
	if (16 + x.n >= best->bits)
		return;
	for (uint64_t i = 0; i < x.n; i++) {
		uint64_t value = sign ? zigzag(x.at[i]) : x.at[i];
		unsigned length = bit_length(value), used = value ? length - 1 - (unsigned)__builtin_ctzll(value) : 0;
		longest = length > longest ? length : longest;
		keep = used > keep ? used : keep;
	}
	for (uint64_t i = 0; i < x.n; i++) {
		unsigned length = bit_length(sign ? zigzag(x.at[i]) : x.at[i]);
		low += length < 2 ? 0 : length - 1 < keep ? length - 1 : keep;
	}
	unsigned k = bit_length(longest);
	consider(best, (struct coding){CODE_LENGTH, k, keep, sign, 0, 16 + x.n * k + low});
}

/* Those that differ from the base, if there are few. */
static void consider_rare(struct coding *best, struct numbers x, uint64_t base)
{
	uint64_t next = 0, count = 0;
	struct coding c = {CODE_RARE, 0, 0, false, base, 3 + number_bits(base)};
	for (uint64_t i = 0; i < x.n && c.bits < best->bits; i++) {
		if (x.at[i] == base)
			continue;
		c.bits += number_bits(i - next) + number_bits(x.at[i] - base);
		next = i + 1;
		count++;
	}
	c.keep = (unsigned)count;
	c.bits += number_bits(count);
	consider(best, c);
}

static uint64_t middle(struct numbers x)
{
	int64_t some[MIDDLE];
	uint64_t n = x.n < MIDDLE ? x.n : MIDDLE;
	for (uint64_t i = 0; i < n; i++) {
		int64_t value = (int64_t)x.at[i * x.n / n];
		uint64_t at = i;
		for (; at && some[at - 1] > value; at--)
			some[at] = some[at - 1];
		some[at] = value;
	}
	return (uint64_t)some[n / 2];
}

/* Of codes only those that are wanted, and CODE_WIDTH. When none has fewer bits than `limit`, so many. */
static struct coding best_code(struct numbers x, unsigned wanted, uint64_t limit)
{
	enum { RARE_LEAST = 3 + 1 + 7 + 1 + 7 };
	struct coding best = {.bits = limit};
	int64_t least = INT64_MAX, most = INT64_MIN;
	for (uint64_t i = 0; i < x.n; i++) {
		int64_t value = (int64_t)x.at[i];
		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	uint64_t base = x.n ? (uint64_t)least : 0, range = x.n ? (uint64_t)most - base : 0;
	if (!range)
		return (struct coding){CODE_SAME, 0, 0, false, base, 3 + number_bits(base)};
	unsigned k = bit_length(range) - 1;
	consider(&best, (struct coding){CODE_WIDTH, k, 0, false, base, 9 + number_bits(base) + x.n * (k + 1)});
	if (wanted & 1 << CODE_RICE)
		consider_rice(&best, x, base, false);
	bool rare = wanted & 1 << CODE_RARE && best.bits > RARE_LEAST;
	bool rice = wanted & 1 << CODE_SIGNED_RICE && best.bits > 9 + 1 + x.n;
	uint64_t center = rare || rice ? middle(x) : 0;
	if (rice)
		consider_rice(&best, x, center, true);
	if (rare)
		consider_rare(&best, x, center);
	if (wanted & 1 << CODE_LENGTH)
		consider_lengths(&best, x, least < 0);
	return best;
}

/* Of many numbers some, from all over, tell which code is best. */
static struct coding choose_code(struct numbers x, uint64_t limit)
{
	enum { ALL = ~0 };
	uint64_t some[SAMPLE];
	if (x.n <= 4 * SAMPLE)
		return best_code(x, (unsigned)ALL, limit);
	for (uint64_t i = 0; i < SAMPLE; i++)
		some[i] = x.at[i * x.n / SAMPLE];
	enum column_code code = best_code((struct numbers){some, SAMPLE}, (unsigned)ALL, UINT64_MAX).code;
	return best_code(x, code == CODE_SAME ? 1u << CODE_RARE | 1u << CODE_LENGTH : 1u << code | 1u << CODE_RARE,
			 limit);
}

struct way {
	enum column_from from;
	uint32_t back;
	uint64_t bits;
};

static uint64_t seeds(enum column_from from)
{
	return from == FROM_BEFORE ? 1 : from == FROM_STEP ? 2 : 0;
}

static uint64_t difference(const struct writing *w, const uint64_t *at, uint64_t i, struct way way)
{
	if (way.from == FROM_BEFORE)
		return at[i] - at[i - 1];
	if (way.from == FROM_STEP)
		return at[i] - 2 * at[i - 1] + at[i - 2];
	return way.from == FROM_COLUMN ? at[i] - at[i - way.back * w->n] : at[i];
}

static void try_way(const struct writing *w, const uint64_t *at, struct way way, struct way *best)
{
	uint64_t differs[SAMPLE], n = w->n < SAMPLE ? w->n : SAMPLE, first = seeds(way.from);
	if (first >= n)
		return;
	way.bits = way.from == FROM_COLUMN ? 6 : 0;
	for (uint64_t i = 0; i < first; i++)
		way.bits += number_bits(at[i]);
	if (way.bits >= best->bits)
		return;
	for (uint64_t i = first; i < n; i++)
		differs[i] = difference(w, at, i, way);
	way.bits += choose_code((struct numbers){differs + first, n - first}, best->bits - way.bits).bits;
	if (way.bits < best->bits)
		*best = way;
}

static struct way choose_way(const struct writing *w, uint32_t column)
{
	const uint64_t *at = w->at + column * w->n;
	struct way best = {.bits = UINT64_MAX};
	try_way(w, at, (struct way){.from = FROM_ZERO}, &best);
	if (!w->varies[column])
		return best;
	try_way(w, at, (struct way){.from = FROM_BEFORE}, &best);
	try_way(w, at, (struct way){.from = FROM_STEP}, &best);
	for (uint32_t back = 1; back <= column && back <= COLUMNS_BACK; back++)
		if (w->varies[column - back] && w->scale[column % w->width] == w->scale[(column - back) % w->width])
			try_way(w, at, (struct way){.from = FROM_COLUMN, .back = back}, &best);
	return best;
}

/* ---- writing it ---- */

static void put_rice(struct bit_sink *to, uint64_t value, unsigned k)
{
	uint64_t quotient = value >> k;
	if (quotient >= COLUMNS_UNARY) {
		bits_put(to, UINT32_MAX, COLUMNS_UNARY);
		bits_put_long(to, value, 64);
		return;
	}
	bits_put_long(to, (UINT64_C(1) << quotient) - 1, (unsigned)quotient + 1);
	bits_put_long(to, value & ((UINT64_C(1) << k) - 1), k);
}

static void put_length(struct bit_sink *to, uint64_t value, const struct coding *c)
{
	unsigned length = bit_length(value);
	bits_put(to, length, c->k);
	if (length < 2)
		return;
	unsigned low = length - 1, kept = low < c->keep ? low : c->keep;
	bits_put_long(to, (value ^ UINT64_C(1) << low) >> (low - kept), kept);
}

static void put_numbers(struct bit_sink *to, struct numbers x, const struct coding *c)
{
	for (uint64_t i = 0; i < x.n; i++) {
		uint64_t value = x.at[i] - c->base;
		if (c->code == CODE_WIDTH)
			bits_put_long(to, value, c->k + 1);
		else if (c->code == CODE_RICE || c->code == CODE_SIGNED_RICE)
			put_rice(to, c->code == CODE_RICE ? value : zigzag(value), c->k);
		else
			put_length(to, c->sign ? zigzag(value) : value, c);
	}
}

static void put_rare(struct bit_sink *to, struct numbers x, const struct coding *c)
{
	uint64_t next = 0;
	put_number(to, c->keep);
	for (uint64_t i = 0; i < x.n; i++) {
		if (x.at[i] == c->base)
			continue;
		put_number(to, i - next);
		put_number(to, x.at[i] - c->base);
		next = i + 1;
	}
}

static void put_coding(struct bit_sink *to, const struct coding *c)
{
	bits_put(to, c->code, 3);
	if (c->code != CODE_LENGTH)
		put_number(to, c->base);
	if (c->code != CODE_SAME && c->code != CODE_RARE)
		bits_put(to, c->k, 6);
	if (c->code == CODE_LENGTH)
		bits_put(to, (uint32_t)c->sign | c->keep << 1, 7);
}

static int put_column(struct writing *w, uint32_t column)
{
	const uint64_t *at = w->at + column * w->n;
	if (log_bytes_room(w->out, (size_t)w->n * LONGEST / 8 + HEAD / 8) < 0)
		return LOG_E_MEMORY;
	bool some = w->varies[column] || at[0];
	bits_put(&w->sink, some, 1);
	if (!some)
		return LOG_OK;
	struct way way = choose_way(w, column);
	uint64_t first = seeds(way.from);
	for (uint64_t i = first; i < w->n; i++)
		w->differs[i] = difference(w, at, i, way);
	struct numbers x = {w->differs + first, w->n - first};
	struct coding c = choose_code(x, UINT64_MAX);
	bits_put(&w->sink, way.from, 2);
	if (way.from == FROM_COLUMN)
		bits_put(&w->sink, way.back - 1, 6);
	for (uint64_t i = 0; i < first; i++)
		put_number(&w->sink, at[i]);
	put_coding(&w->sink, &c);
	if (c.code == CODE_RARE)
		put_rare(&w->sink, x, &c);
	else if (c.code != CODE_SAME)
		put_numbers(&w->sink, x, &c);
	return LOG_OK;
}

/* ---- doubles as multiples of a power of 1/2 ---- */

/* The power that makes it a whole number, SCALE_NONE if there is no such one. */
static unsigned scale_of(uint64_t bits)
{
	int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
	if (!bits)
		return 0;
	int need = 52 - __builtin_ctzll(mantissa) - exponent;
	return exponent > 52 || need >= SCALE_NONE ? SCALE_NONE : need < 0 ? 0 : (unsigned)need;
}

/* Some rows at a time, which stay in the processor's cache. */
static void fill_columns(struct writing *w, const uint64_t *rows)
{
	for (uint64_t from = 0; from < w->n; from += COLUMNS_TILE) {
		uint64_t to = from + COLUMNS_TILE < w->n ? from + COLUMNS_TILE : w->n;
		for (uint32_t c = 0; c < w->columns; c++)
			for (uint64_t i = from; i < to; i++)
				w->at[c * w->n + i] = rows[i * w->columns + c];
	}
}

/* That of all the columns of a word; where it does not matter, the one of the word before. */
static unsigned scale_of_word(const struct writing *w, uint32_t word, unsigned before)
{
	unsigned scale = w->n < SCALE_ROWS ? SCALE_FIRST : 0, most = 0;
	for (uint32_t c = word; c < w->columns; c += w->width) {
		const uint64_t *at = w->at + c * w->n;
		for (uint64_t i = 0; i < w->n && scale < SCALE_NONE; i++) {
			unsigned need = scale_of(at[i]), size = (unsigned)(at[i] >> 52 & 0x7ff);
			scale = need > scale ? need : scale;
			most = size > most ? size : most;
		}
	}
	if (!most && scale < SCALE_NONE)
		return before;
	return most + scale > 1023 + 52 ? SCALE_NONE : scale;
}

/* To whole numbers. */
static void scale_column(struct writing *w, uint32_t column, unsigned scale)
{
	uint64_t *at = w->at + column * w->n;
	double unit = (double)(UINT64_C(1) << scale), real;
	for (uint64_t i = 0; i < w->n; i++) {
		memcpy(&real, &at[i], sizeof real);
		at[i] = (uint64_t)(int64_t)(real * unit);
	}
}

static bool does_vary(const uint64_t *at, uint64_t n)
{
	uint64_t i = 1;
	while (i < n && at[i] == at[0])
		i++;
	return i < n;
}

static void scale_columns(struct writing *w, const bool *real)
{
	unsigned before = SCALE_FIRST;
	for (uint32_t i = 0; i < w->width; i++) {
		before = real[i] ? scale_of_word(w, i, before) : before;
		w->scale[i] = real[i] ? (uint8_t)before : NO_SCALE;
	}
	for (uint32_t c = 0; c < w->columns; c++) {
		if (w->scale[c % w->width] < SCALE_NONE)
			scale_column(w, c, w->scale[c % w->width]);
		w->varies[c] = does_vary(w->at + c * w->n, w->n);
	}
}

static void put_scales(struct writing *w, const bool *real)
{
	uint8_t before = SCALE_FIRST;
	for (uint32_t i = 0; i < w->width; i++) {
		if (!real[i])
			continue;
		bits_put(&w->sink, w->scale[i] == before, 1);
		if (w->scale[i] != before)
			bits_put(&w->sink, w->scale[i], 6);
		before = w->scale[i];
	}
}

static int put_table(struct writing *w, const uint64_t *rows, uint64_t group, const bool *real)
{
	int code = log_bytes_room(w->out, w->width + HEAD / 8);
	if (code < 0)
		return code;
	w->sink.out = w->out;
	fill_columns(w, rows);
	scale_columns(w, real);
	bits_put(&w->sink, (uint32_t)group - 1, 6);
	put_scales(w, real);
	for (uint32_t c = 0; c < w->columns && code >= 0; c++)
		code = put_column(w, c);
	if (code >= 0)
		bits_end(&w->sink);
	return code;
}

int columns_write_row(struct log_bytes *out, const uint64_t *row, uint32_t width, const bool *real)
{
	struct writing w = {.out = out, .n = 1, .columns = width, .width = width};
	w.at = log_alloc(width * sizeof *w.at);
	w.scale = log_alloc(width);
	w.varies = log_alloc(width * sizeof *w.varies);
	int code = w.at && w.scale && w.varies ? log_bytes_room(out, (size_t)width * LONGEST / 8 + HEAD / 8)
					       : LOG_E_MEMORY;
	if (code >= 0) {
		w.sink.out = out;
		memcpy(w.at, row, width * sizeof *row);
		scale_columns(&w, real);
		put_scales(&w, real);
		for (uint32_t c = 0; c < width; c++)
			put_number(&w.sink, w.at[c]);
		bits_end(&w.sink);
	}
	log_free(w.at);
	log_free(w.scale);
	log_free(w.varies);
	return code;
}

static int write_grouped(struct log_bytes *out, const uint64_t *rows, uint64_t n, uint32_t width, const bool *real,
			 uint64_t group)
{
	struct writing w = {.out = out, .n = n / group, .columns = (uint32_t)group * width, .width = width};
	w.at = log_memory.alloc((size_t)n * width * sizeof *w.at);
	w.differs = log_memory.alloc((size_t)w.n * sizeof *w.differs);
	w.scale = log_alloc(width);
	w.varies = log_alloc(w.columns * sizeof *w.varies);
	int code = LOG_E_MEMORY;
	if (w.at && w.differs && w.scale && w.varies)
		code = put_table(&w, rows, group, real);
	log_free(w.at);
	log_free(w.differs);
	log_free(w.scale);
	log_free(w.varies);
	return code;
}

/* How many rows in a row have the same first word, when it is always as many and several; else 1. */
static uint64_t group_of(const uint64_t *rows, uint64_t n, uint32_t width)
{
	uint64_t group = 1;
	while (group < n && rows[group * width] == rows[0])
		group++;
	if (group > COLUMNS_GROUP || n % group || n / group < 2)
		return 1;
	for (uint64_t i = group; i < n; i++)
		if ((rows[i * width] == rows[(i - 1) * width]) != (i % group > 0))
			return 1;
	return group;
}

int columns_write(struct log_bytes *out, const uint64_t *rows, uint64_t n, uint32_t width, const bool *real)
{
	size_t begins = out->used;
	uint64_t group = n ? group_of(rows, n, width) : 1;
	int code = write_grouped(out, rows, n, width, real, 1);
	if (code < 0 || group == 1)
		return code;
	struct log_bytes other = {0};
	code = write_grouped(&other, rows, n, width, real, group);
	if (code >= 0 && other.used < out->used - begins) {
		out->used = begins;
		code = log_bytes_add(out, other.at, other.used);
	}
	log_bytes_free(&other);
	return code;
}
