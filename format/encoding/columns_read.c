#include <string.h>

#include "bits.h"
#include "columns.h"
#include "error.h"

struct reading {
	struct bit_source in;
	uint64_t n; /* numbers of a column */
	uint32_t columns;
	uint64_t *at; /* columns one behind the other */
};

static uint64_t take_number(struct bit_source *in)
{
	if (!bits_take(in, 1))
		return 0;
	unsigned low = (unsigned)bits_take(in, 6);
	return unzigzag(UINT64_C(1) << low | bits_take_long(in, low));
}

static uint64_t take_rice(struct bit_source *in, unsigned k)
{
	unsigned quotient = 0;
	while (quotient < COLUMNS_UNARY && bits_take(in, 1))
		quotient++;
	if (quotient == COLUMNS_UNARY)
		return bits_take_long(in, 64);
	uint64_t rest = bits_take_long(in, k);
	return (uint64_t)quotient << k | rest;
}

static uint64_t take_length(struct bit_source *in, unsigned width, unsigned keep)
{
	unsigned length = (unsigned)bits_take(in, width);
	if (length < 2)
		return length;
	unsigned low = length - 1 < 64 ? length - 1 : 63, kept = low < keep ? low : keep;
	return (UINT64_C(1) << kept | bits_take_long(in, kept)) << (low - kept);
}

static void take_rare(struct reading *r, uint64_t *to, uint64_t first, uint64_t base)
{
	uint64_t at = first;
	for (uint64_t i = first; i < r->n; i++)
		to[i] = base;
	for (uint64_t count = take_number(&r->in); count && !r->in.failed; count--, at++) {
		uint64_t gap = take_number(&r->in);
		r->in.failed |= at >= r->n || gap >= r->n - at;
		if (r->in.failed)
			return;
		at += gap;
		to[at] += take_number(&r->in);
	}
}

/* What stands instead of the numbers from `first` on. */
static void take_differences(struct reading *r, uint64_t *to, uint64_t first)
{
	struct bit_source *in = &r->in;
	unsigned code = (unsigned)bits_take(in, 3), sign = 0, keep = 0;
	uint64_t base = 0;
	if (code != CODE_LENGTH)
		base = take_number(in);
	if (code == CODE_RARE) {
		take_rare(r, to, first, base);
		return;
	}
	unsigned k = code == CODE_SAME ? 0 : (unsigned)bits_take(in, 6);
	if (code == CODE_LENGTH) {
		sign = (unsigned)bits_take(in, 1);
		keep = (unsigned)bits_take(in, 6);
	}
	in->failed |= code >= CODES || (code == CODE_LENGTH && k > 7);
	for (uint64_t i = first; i < r->n && !in->failed; i++) {
		if (code == CODE_WIDTH)
			to[i] = base + bits_take_long(in, k + 1);
		else if (code == CODE_RICE)
			to[i] = base + take_rice(in, k);
		else if (code == CODE_SIGNED_RICE)
			to[i] = base + unzigzag(take_rice(in, k));
		else if (code == CODE_LENGTH && sign)
			to[i] = unzigzag(take_length(in, k, keep));
		else
			to[i] = code == CODE_LENGTH ? take_length(in, k, keep) : base;
	}
}

static void take_column(struct reading *r, uint32_t column)
{
	uint64_t *to = r->at + column * r->n;
	if (!bits_take(&r->in, 1))
		return;
	enum column_from from = (enum column_from)bits_take(&r->in, 2);
	uint64_t back = from == FROM_COLUMN ? bits_take(&r->in, 6) + 1 : 0;
	uint64_t first = from == FROM_BEFORE ? 1 : from == FROM_STEP ? 2 : 0;
	if (back > column || first > r->n) {
		r->in.failed = true;
		return;
	}
	for (uint64_t i = 0; i < first; i++)
		to[i] = take_number(&r->in);
	take_differences(r, to, first);
	for (uint64_t i = first; i < r->n && from != FROM_ZERO; i++) {
		if (from == FROM_COLUMN)
			to[i] += to[i - back * r->n];
		else
			to[i] += from == FROM_BEFORE ? to[i - 1] : 2 * to[i - 1] - to[i - 2];
	}
}

/* From multiples of 2^-scale to doubles. */
static void to_real(uint64_t *at, uint64_t n, unsigned scale)
{
	uint64_t bits = (uint64_t)(1023 - scale) << 52;
	double unit;
	memcpy(&unit, &bits, sizeof unit);
	for (uint64_t i = 0; i < n; i++) {
		double real = (double)(int64_t)at[i] * unit;
		memcpy(&at[i], &real, sizeof real);
	}
}

/* Scales of the real words, as numbers or SCALE_NONE. */
static void take_scales(struct bit_source *in, uint8_t *scale, uint32_t width, const bool *real)
{
	uint8_t before = SCALE_FIRST;
	for (uint32_t w = 0; w < width; w++) {
		scale[w] = SCALE_NONE;
		if (real[w])
			scale[w] = before = bits_take(in, 1) ? before : (uint8_t)bits_take(in, 6);
	}
}

/* Some rows at a time, which stay in the processor's cache. */
static void to_rows(const struct reading *r, uint64_t *rows)
{
	for (uint64_t from = 0; from < r->n; from += COLUMNS_TILE) {
		uint64_t to = from + COLUMNS_TILE < r->n ? from + COLUMNS_TILE : r->n;
		for (uint32_t c = 0; c < r->columns; c++)
			for (uint64_t i = from; i < to; i++)
				rows[i * r->columns + c] = r->at[c * r->n + i];
	}
}

int columns_read(const uint8_t *at, size_t size, uint64_t *rows, uint64_t n, uint32_t width, const bool *real)
{
	struct reading r = {.in = {.at = at, .end = at + size}};
	uint64_t group = bits_take(&r.in, 6) + 1;
	if (n % group)
		return LOG_E_DAMAGED;
	r.n = n / group;
	r.columns = (uint32_t)group * width;
	r.at = log_alloc(n * width * sizeof *r.at);
	uint8_t *scale = log_alloc(width);
	if (r.at && scale) {
		take_scales(&r.in, scale, width, real);
		for (uint32_t c = 0; c < r.columns && !r.in.failed; c++)
			take_column(&r, c);
		for (uint32_t c = 0; c < r.columns; c++)
			if (scale[c % width] != SCALE_NONE)
				to_real(r.at + c * r.n, r.n, scale[c % width]);
		to_rows(&r, rows);
	}
	int code = !r.at || !scale ? LOG_E_MEMORY : r.in.failed ? LOG_E_DAMAGED : LOG_OK;
	log_free(r.at);
	log_free(scale);
	return code;
}

int columns_read_row(const uint8_t *at, size_t size, uint64_t *row, uint32_t width, const bool *real)
{
	struct bit_source in = {.at = at, .end = at + size};
	uint8_t *scale = log_alloc(width);
	if (!scale)
		return LOG_E_MEMORY;
	take_scales(&in, scale, width, real);
	for (uint32_t w = 0; w < width; w++) {
		row[w] = take_number(&in);
		if (scale[w] != SCALE_NONE)
			to_real(row + w, 1, scale[w]);
	}
	log_free(scale);
	return in.failed ? LOG_E_DAMAGED : LOG_OK;
}
