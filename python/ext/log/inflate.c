#include "inflate.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

enum {
	INPUT = 256 << 10,
	PAD = 64, /* zeros behind the input: bits are loaded by eight bytes */
	HEADER_MAX = 1024,
	LITERAL_BITS = 10,
	DISTANCE_BITS = 8,
	CODE_BITS = 7,
	LITERAL_ENTRIES = 4096, /* with the tables of longer codes: 2342 and 402 are the most there can be */
	DISTANCE_ENTRIES = 1024,
	LONGEST_CODE = 15,
	SYMBOLS = 288,
	END_OF_BLOCK = 256,
};

/*
 * An entry of a table: bits 0-7 what to consume (code and extra bits), 8-15 what the code has of it, 16-29 the value: byte,
 * shortest length, nearest distance, or where the table of longer codes begins (whose bits are then in 8-15).
 */
#define LITERAL    0x80000000u
#define SPECIAL    0x40000000u /* one of the following, or the table of longer codes */
#define BLOCK_ENDS 0x20000000u
#define INVALID    0x10000000u
/* Distances take bits 16-30. */
#define FAR_SPECIAL 0x80000000u

enum place { AT_STREAM, AT_BLOCK, IN_STORED, IN_CODES, AT_SUM };

struct inflate {
	const struct source *source;
	uint64_t at, file_end;
	const uint8_t *in, *end;
	uint64_t bits; /* loaded; `left` of them are not consumed, those above are loaded again */
	unsigned left;
	enum place place;
	bool last_block;
	size_t stored;
	size_t reach; /* how far back the stream may refer here */
	int (*run)(struct inflate *z, struct inflate_piece *p);
	uint32_t literals[LITERAL_ENTRIES];
	uint32_t distances[DISTANCE_ENTRIES];
	size_t input_room;
	uint8_t input[]; /* and PAD */
};

/* ---- bits ---- */

#define LOAD(bits, left, in)                      \
	do {                                      \
		uint64_t word_;                   \
		memcpy(&word_, in, sizeof word_); \
		(bits) |= word_ << (left);        \
		(in) += (63 - (left)) >> 3;       \
		(left) |= 56;                     \
	} while (0)

#define TAKE(bits, left, entry)        \
	do {                           \
		(bits) >>= (entry)&63; \
		(left) -= (entry)&63;  \
	} while (0)

/* At most 32 at a time, while the input has HEADER_MAX more or is at its end. */
static uint32_t take(struct inflate *z, unsigned n)
{
	if (z->in <= z->end)
		LOAD(z->bits, z->left, z->in);
	uint32_t value = (uint32_t)(z->bits & ((1ull << n) - 1));
	z->bits >>= n;
	z->left -= n <= z->left ? n : z->left;
	return value;
}

static void align(struct inflate *z)
{
	z->in -= z->left / 8;
	z->bits = z->left = 0;
}

static bool overrun(const struct inflate *z)
{
	return z->in - z->left / 8 > z->end;
}

/* Makes n bytes of input available, or all that are left. */
static int supply(struct inflate *z, size_t n)
{
	size_t have = z->in < z->end ? (size_t)(z->end - z->in) : 0;
	if (have >= n || z->at == z->file_end || z->in > z->end)
		return LOG_OK;
	z->in -= z->left / 8; /* align() may go back over whole bytes: they move as well */
	have += z->left / 8;
	z->left &= 7;
	z->bits &= (1u << z->left) - 1;
	memmove(z->input, z->in, have);
	size_t more = z->input_room - have, rest = (size_t)(z->file_end - z->at);
	more = more < rest ? more : rest;
	if (source_read(z->source, z->at, z->input + have, more, NULL) < 0)
		return LOG_E_IO;
	z->at += more;
	z->in = z->input;
	z->end = z->input + have + more;
	memset(z->input + have + more, 0, PAD);
	return LOG_OK;
}

/* ---- tables ---- */

static const uint16_t length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
				       31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
				       2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

static uint32_t literal_entry(unsigned symbol, unsigned bits)
{
	if (symbol < END_OF_BLOCK)
		return LITERAL | symbol << 16 | bits << 8 | bits;
	if (symbol == END_OF_BLOCK)
		return SPECIAL | BLOCK_ENDS | bits << 8 | bits;
	symbol -= END_OF_BLOCK + 1;
	if (symbol >= sizeof length_extra)
		return SPECIAL | INVALID | bits;
	return (uint32_t)length_base[symbol] << 16 | bits << 8 | (bits + length_extra[symbol]);
}

static uint32_t distance_entry(unsigned symbol, unsigned bits)
{
	unsigned extra = symbol < 4 ? 0 : symbol / 2 - 1;
	uint32_t base = symbol < 4 ? symbol + 1 : ((2 + (symbol & 1)) << extra) + 1;
	return symbol < 30 ? base << 16 | bits << 8 | (bits + extra) : FAR_SPECIAL | INVALID | bits;
}

static uint32_t code_entry(unsigned symbol, unsigned bits)
{
	return symbol << 16 | bits << 8 | bits;
}

struct table_plan {
	uint32_t *entries;
	size_t room;
	unsigned bits;
	uint32_t (*entry)(unsigned symbol, unsigned bits);
	uint32_t longer;  /* marks a table of longer codes */
	uint32_t invalid; /* for what is no code */
};

struct code_book {
	uint16_t count[LONGEST_CODE + 1];
	uint16_t symbols[SYMBOLS]; /* by length, then by number */
	unsigned n;
};

/* False unless the lengths make a complete code, a single one of one bit, or none. */
static bool sort_codes(struct code_book *b, const uint8_t *lengths, unsigned n)
{
	uint16_t start[LONGEST_CODE + 2] = {0};
	int left = 1;
	*b = (struct code_book){0};
	for (unsigned i = 0; i < n; i++)
		b->count[lengths[i]]++;
	b->n = n - b->count[0];
	b->count[0] = 0;
	for (int i = 1; i <= LONGEST_CODE; i++) {
		left = 2 * left - b->count[i];
		if (left < 0)
			return false;
		start[i + 1] = (uint16_t)(start[i] + b->count[i]);
	}
	for (unsigned i = 0; i < n; i++)
		if (lengths[i])
			b->symbols[start[lengths[i]]++] = (uint16_t)i;
	return !left || !b->n || (b->n == 1 && b->count[1] == 1);
}

/* The next code in order, with its first bit lowest. */
static uint32_t next_code(uint32_t code, unsigned length)
{
	uint32_t bit = 1u << (length - 1);
	while (code & bit)
		bit >>= 1;
	return bit ? (code & (bit - 1)) | bit : 0;
}

/* Bits that the longer codes from this one on have beyond the table's. */
static unsigned longer_bits(const struct code_book *b, unsigned length, unsigned from, unsigned bits)
{
	unsigned more = length - bits;
	for (int room = 1 << more; length < LONGEST_CODE; room <<= 1, more++, length++) {
		room -= (int)(b->count[length] - from);
		if (room <= 0)
			break;
		from = 0;
	}
	return more;
}

static bool make_table(const struct table_plan *p, const uint8_t *lengths, unsigned n)
{
	struct code_book b;
	if (!sort_codes(&b, lengths, n))
		return false;
	size_t used = 1u << p->bits, begin = 0;
	uint32_t code = 0, prefix = UINT32_MAX, mask = (1u << p->bits) - 1;
	unsigned more = 0, i = 0;
	if (b.n <= 1)
		for (size_t k = 0; k < used; k++)
			p->entries[k] = p->invalid;
	for (unsigned length = 1; length <= LONGEST_CODE; length++) {
		for (unsigned k = 0; k < b.count[length]; k++, i++) {
			bool is_long = length > p->bits;
			if (is_long && (code & mask) != prefix) {
				prefix = code & mask;
				more = longer_bits(&b, length, k, p->bits);
				begin = used;
				used += 1u << more;
				if (used > p->room)
					return false;
				p->entries[prefix] = p->longer | (uint32_t)begin << 16 | more << 8 | p->bits;
			}
			uint32_t entry = p->entry(b.symbols[i], is_long ? length - p->bits : length);
			size_t at = is_long ? begin + (code >> p->bits) : code, end = is_long ? used : mask + 1;
			for (; at < end; at += (size_t)1 << (is_long ? length - p->bits : length))
				p->entries[at] = entry;
			code = next_code(code, length);
		}
	}
	return true;
}

static bool make_tables(struct inflate *z, const uint8_t *lengths, unsigned nliterals, unsigned ndistances)
{
	const struct table_plan literals = {z->literals,   LITERAL_ENTRIES, LITERAL_BITS,
					    literal_entry, SPECIAL,         SPECIAL | INVALID};
	const struct table_plan distances = {z->distances,   DISTANCE_ENTRIES, DISTANCE_BITS,
					     distance_entry, FAR_SPECIAL,      FAR_SPECIAL | INVALID};
	return lengths[END_OF_BLOCK] && make_table(&literals, lengths, nliterals) &&
	       make_table(&distances, lengths + nliterals, ndistances);
}

static bool fixed_tables(struct inflate *z)
{
	uint8_t lengths[SYMBOLS + 32];
	memset(lengths, 8, 144);
	memset(lengths + 144, 9, 112);
	memset(lengths + 256, 7, 24);
	memset(lengths + 280, 8, 8);
	memset(lengths + SYMBOLS, 5, 32);
	return make_tables(z, lengths, SYMBOLS, 32);
}

/* Lengths that are coded themselves. */
static bool read_lengths(struct inflate *z, const uint32_t *codes, uint8_t *lengths, unsigned n)
{
	static const struct {
		uint8_t bits, least;
	} repeats[] = {{2, 3}, {3, 3}, {7, 11}};
	for (unsigned i = 0; i < n;) {
		take(z, 0);
		uint32_t e = codes[z->bits & ((1 << CODE_BITS) - 1)], symbol = e >> 16;
		take(z, e & 63);
		if (e == INVALID || overrun(z))
			return false;
		if (symbol < 16) {
			lengths[i++] = (uint8_t)symbol;
			continue;
		}
		uint8_t value = symbol == 16 && i ? lengths[i - 1] : 0;
		unsigned times = repeats[symbol - 16].least + take(z, repeats[symbol - 16].bits);
		if (times > n - i || (symbol == 16 && !i))
			return false;
		memset(lengths + i, value, times);
		i += times;
	}
	return true;
}

static bool read_tables(struct inflate *z)
{
	static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
	uint8_t lengths[SYMBOLS + 32] = {0}, code_lengths[sizeof order] = {0};
	uint32_t codes[1 << CODE_BITS];
	const struct table_plan plan = {codes, 1 << CODE_BITS, CODE_BITS, code_entry, 0, INVALID};
	unsigned nliterals = take(z, 5) + 257, ndistances = take(z, 5) + 1, ncodes = take(z, 4) + 4;
	if (nliterals > 286 || ndistances > 30)
		return false;
	for (unsigned i = 0; i < ncodes; i++)
		code_lengths[order[i]] = (uint8_t)take(z, 3);
	return make_table(&plan, code_lengths, sizeof order) && codes[1] != INVALID &&
	       read_lengths(z, codes, lengths, nliterals + ndistances) &&
	       make_tables(z, lengths, nliterals, ndistances);
}

/* ---- codes ---- */

/* Writes up to 31 bytes more. */
static inline __attribute__((always_inline)) uint8_t *copy(uint8_t *out, size_t distance, size_t length)
{
	const uint8_t *from = out - distance;
	uint8_t *end = out + length;
	if (distance >= 16) {
		do {
			memcpy(out, from, 16);
			memcpy(out + 16, from + 16, 16);
			out += 32;
			from += 32;
		} while (out < end);
	} else if (distance == 1) {
		do {
			memset(out, *from, 32);
			out += 32;
		} while (out < end);
	} else if (distance >= 8) {
		do {
			memcpy(out, from, 8);
			out += 8;
			from += 8;
		} while (out < end);
	} else {
		do
			*out++ = *from++;
		while (out < end);
	}
	return end;
}

/* Low bits of a word without those of the code: the extra bits of an entry. */
static inline __attribute__((always_inline)) uint32_t extra(uint64_t bits, uint32_t entry)
{
	return (uint32_t)((bits & ~(~0ull << (entry & 63))) >> (entry >> 8 & 63));
}

/* Codes of a block. 1 = on to what z->place says or out of room or input, negative = not a valid stream. */
static inline __attribute__((always_inline)) int run(struct inflate *z, struct inflate_piece *p)
{
	const uint32_t *const literals = z->literals, *const distances = z->distances;
	uint8_t *out = p->bytes + p->used, *const limit = p->bytes + p->room, *const begin = out - z->reach;
	const uint8_t *in = z->in, *const last = z->at == z->file_end ? z->end + 8 : z->end - 32;
	uint64_t bits = z->bits;
	unsigned left = z->left;
	int code = 1;
	LOAD(bits, left, in);
	uint32_t e = literals[bits & ((1 << LITERAL_BITS) - 1)];
	while (out < limit && in < last) {
		LOAD(bits, left, in);
		if (e & LITERAL) {
			TAKE(bits, left, e);
			*out++ = (uint8_t)(e >> 16);
			e = literals[bits & ((1 << LITERAL_BITS) - 1)];
			if (e & LITERAL) {
				TAKE(bits, left, e);
				*out++ = (uint8_t)(e >> 16);
				e = literals[bits & ((1 << LITERAL_BITS) - 1)];
			}
		}
		if (e & SPECIAL && !(e & (BLOCK_ENDS | INVALID))) {
			TAKE(bits, left, e);
			e = literals[(e >> 16 & 0xfff) + (bits & ((1u << (e >> 8 & 15)) - 1))];
		}
		uint64_t before = bits;
		TAKE(bits, left, e);
		if (e & LITERAL) {
			*out++ = (uint8_t)(e >> 16);
			e = literals[bits & ((1 << LITERAL_BITS) - 1)];
			continue;
		}
		if (e & SPECIAL) {
			z->place = z->last_block ? AT_SUM : AT_BLOCK;
			code = e & INVALID ? LOG_E_DAMAGED : 1;
			break;
		}
		uint32_t d = distances[bits & ((1 << DISTANCE_BITS) - 1)];
		LOAD(bits, left, in);
		size_t length = (e >> 16) + extra(before, e);
		if (d & FAR_SPECIAL && !(d & INVALID)) {
			TAKE(bits, left, d);
			d = distances[(d >> 16 & 0xfff) + (bits & ((1u << (d >> 8 & 15)) - 1))];
		}
		size_t distance = (d >> 16) + extra(bits, d);
		TAKE(bits, left, d);
		e = literals[bits & ((1 << LITERAL_BITS) - 1)];
		if (d & FAR_SPECIAL || distance > (size_t)(out - begin)) {
			code = LOG_E_DAMAGED;
			break;
		}
		out = copy(out, distance, length);
	}
	z->in = in;
	z->bits = bits;
	z->left = left;
	p->used = (size_t)(out - p->bytes);
	return code;
}

static int run_anywhere(struct inflate *z, struct inflate_piece *p)
{
	return run(z, p);
}

#ifdef __x86_64__
__attribute__((target("bmi2"))) static int run_bmi2(struct inflate *z, struct inflate_piece *p)
{
	return run(z, p);
}
#endif

/* ---- streams and blocks ---- */

static int begin_stream(struct inflate *z)
{
	uint32_t method = take(z, 8), flags = take(z, 8);
	bool good = (method & 15) == 8 && method >> 4 <= 7 && !(flags & 0x20) && (method << 8 | flags) % 31 == 0;
	z->place = AT_BLOCK;
	z->last_block = false;
	z->reach = 0;
	return good && !overrun(z) ? 1 : LOG_E_DAMAGED;
}

static int begin_block(struct inflate *z)
{
	z->last_block = take(z, 1);
	bool good = true;
	switch (take(z, 2)) {
	case 0:
		align(z);
		z->stored = take(z, 16);
		good = (take(z, 16) ^ z->stored) == 0xffff;
		align(z);
		z->place = IN_STORED;
		break;
	case 1:
		good = fixed_tables(z);
		z->place = IN_CODES;
		break;
	case 2:
		good = read_tables(z);
		z->place = IN_CODES;
		break;
	default:
		good = false;
	}
	return good && !overrun(z) ? 1 : LOG_E_DAMAGED;
}

static int copy_stored(struct inflate *z, struct inflate_piece *p)
{
	size_t n = z->stored, there = (size_t)(z->end - z->in);
	n = n < there ? n : there;
	n = n < p->room - p->used ? n : p->room - p->used;
	if (!there && z->stored)
		return LOG_E_TRUNCATED;
	memcpy(p->bytes + p->used, z->in, n);
	p->used += n;
	z->in += n;
	z->stored -= n;
	if (!z->stored)
		z->place = z->last_block ? AT_SUM : AT_BLOCK;
	return 1;
}

static int end_stream(struct inflate *z, struct inflate_piece *p)
{
	align(z);
	uint32_t sum = __builtin_bswap32(take(z, 32));
	align(z);
	z->place = AT_STREAM;
	p->ends[p->nends].at = p->used;
	p->ends[p->nends++].sum = sum;
	return overrun(z) ? LOG_E_TRUNCATED : 1;
}

static int step(struct inflate *z, struct inflate_piece *p)
{
	size_t before = p->used;
	int code = supply(z, HEADER_MAX);
	if (code < 0)
		return code;
	switch (z->place) {
	case AT_STREAM:
		return z->in == z->end ? 0 : begin_stream(z);
	case AT_BLOCK:
		return begin_block(z);
	case AT_SUM:
		return end_stream(z, p);
	case IN_STORED:
		code = copy_stored(z, p);
		break;
	case IN_CODES:
		code = z->run(z, p);
		code = code > 0 && overrun(z) ? LOG_E_TRUNCATED : code;
		break;
	}
	z->reach += p->used - before;
	z->reach = z->reach < INFLATE_WINDOW ? z->reach : INFLATE_WINDOW;
	return code;
}

int inflate_next(struct inflate *z, struct inflate_piece *p)
{
	int code = 1;
	p->used = p->nends = 0;
	while (code > 0 && p->used < p->room && p->nends < INFLATE_ENDS)
		code = step(z, p);
	return code;
}

struct inflate *inflate_open(const struct source *source, uint64_t offset, uint64_t length)
{
	size_t room = length < INPUT ? (size_t)length : INPUT;
	struct inflate *z = malloc(sizeof *z + room + PAD);
	if (!z)
		return NULL;
	z->input_room = room;
	z->source = source;
	z->at = offset;
	z->file_end = offset + length;
	z->in = z->end = z->input;
	z->bits = z->left = 0;
	z->place = AT_STREAM;
	z->run = run_anywhere;
#ifdef __x86_64__
	if (__builtin_cpu_supports("bmi2"))
		z->run = run_bmi2;
#endif
	return z;
}

void inflate_close(struct inflate *z)
{
	free(z);
}

/* ---- the sum ---- */

#define SUM_MODULUS 65521u

enum { SUM_LANES = 16, SUM_STEPS = 16, SUM_BLOCK = SUM_LANES * SUM_STEPS };

typedef uint16_t lanes __attribute__((vector_size(SUM_LANES)));

/* What lanes add to both sums: of the bytes, and of how often each of them counts. */
static void add_lanes(lanes sum, lanes sums, uint32_t first_weight, uint64_t *first, uint64_t *second)
{
	uint32_t a = 0, b = 0;
	for (uint32_t k = 0; k < SUM_LANES / 2; k++) {
		a += sum[k];
		b += SUM_LANES * (uint32_t)sums[k] + (first_weight - 2 * k) * sum[k];
	}
	*first += a;
	*second += b;
}

/* Bytes at even and at odd places by lane, and the sums of what those sums were before: all below 2^16. */
static void sum_block(const uint8_t *bytes, uint64_t *first, uint64_t *second)
{
	lanes low = {0}, lows = {0}, high = {0}, highs = {0}, now;
	for (int i = 0; i < SUM_STEPS; i++) {
		memcpy(&now, bytes + i * SUM_LANES, sizeof now);
		lows += low;
		highs += high;
		low += now & 0xff;
		high += now >> 8;
	}
	const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	*second += SUM_BLOCK * *first;
	add_lanes(low, lows, little ? SUM_LANES : SUM_LANES - 1, first, second);
	add_lanes(high, highs, little ? SUM_LANES - 1 : SUM_LANES, first, second);
}

uint32_t inflate_sum(uint32_t value, const uint8_t *bytes, size_t n)
{
	uint64_t first = value & 0xffff, second = value >> 16;
	while (n) {
		size_t now = n < 4096 ? n : 4096;
		n -= now;
		for (; now >= SUM_BLOCK; now -= SUM_BLOCK, bytes += SUM_BLOCK)
			sum_block(bytes, &first, &second);
		for (; now; now--) {
			first += *bytes++;
			second += first;
		}
		first %= SUM_MODULUS;
		second %= SUM_MODULUS;
	}
	return (uint32_t)(second << 16 | first);
}
