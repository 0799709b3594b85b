#include "deflater.h"

#include <stddef.h>
#include <string.h>

#include "error.h"

enum {
	END = 256,
	SHORTEST = 3,
	NUMBER = 8,
	FEW_NUMBERS = 24,  /* a match of fewer bytes may be longer somewhere else, */
	MANY_NUMBERS = 64, /* and of fewer than these even far away, */
	FARTHER = 2,       /* if it is so much longer */
	LONGEST = 258,
	WINDOW = 32768,
	TOKEN_BITS = 48,
	HEAD_BITS = 3000,
};

/* ---- lengths and distances as deflate writes them ---- */

struct class
{
	uint16_t symbol;
	uint8_t bits; /* extra ones */
	uint16_t base;
};

static struct class length_class(uint32_t length)
{
	if (length < 11)
		return (struct class){(uint16_t)(254 + length), 0, (uint16_t)length};
	if (length == LONGEST)
		return (struct class){285, 0, LONGEST};
	unsigned bits = 29u - (unsigned)__builtin_clz(length - 3); /* of the value without its top three */
	uint32_t top = (length - 3) >> bits;
	return (struct class){(uint16_t)(257 + 4 * bits + top), (uint8_t)bits, (uint16_t)((top << bits) + 3)};
}

static struct class distance_class(uint32_t distance)
{
	if (distance < 5)
		return (struct class){(uint16_t)(distance - 1), 0, (uint16_t)distance};
	unsigned bits = 30u - (unsigned)__builtin_clz(distance - 1);
	uint32_t top = (distance - 1) >> bits;
	return (struct class){(uint16_t)(2 * bits + top), (uint8_t)bits, (uint16_t)((top << bits) + 1)};
}

/* ---- a block: its tokens are counted, then written ---- */

/* What writes tokens is twice in the object: with codes of their own, and with the fixed ones, which need no head. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* NULL: the fixed ones. */
struct codes {
	const struct huffman_code *lengths, *distances;
};

static void put_code(struct deflater *s, const struct huffman_code *c, unsigned symbol)
{
	bits_put(&s->sink, c->bits[symbol], c->length[symbol]);
}

static int fixed_length(unsigned symbol)
{
	return symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
}

static ALWAYS_INLINE void put_length_code(struct deflater *s, const struct huffman_code *c, unsigned symbol)
{
	unsigned fixed = symbol < 144   ? 0x30 + symbol
			 : symbol < 256 ? 0x100 + symbol
			 : symbol < 280 ? symbol - 256
					: symbol - 88;
	if (c)
		put_code(s, c, symbol);
	else
		bits_put(&s->sink, huffman_turned(fixed, fixed_length(symbol)), (unsigned)fixed_length(symbol));
}

enum { FIXED_DISTANCE = 5 };

static ALWAYS_INLINE void put_distance_code(struct deflater *s, const struct huffman_code *c, unsigned symbol)
{
	if (c)
		put_code(s, c, symbol);
	else
		bits_put(&s->sink, huffman_turned(symbol, FIXED_DISTANCE), FIXED_DISTANCE);
}

static ALWAYS_INLINE void put_tokens(struct deflater *s, struct codes c)
{
	for (uint32_t k = 0; k < s->tokens; k++) {
		uint32_t length = s->token[k] >> 16, distance = s->token[k] & 0xffff;
		if (!length) {
			put_length_code(s, c.lengths, distance);
			continue;
		}
		struct class l = length_class(length), d = distance_class(distance);
		put_length_code(s, c.lengths, l.symbol);
		bits_put(&s->sink, length - l.base, l.bits);
		put_distance_code(s, c.distances, d.symbol);
		bits_put(&s->sink, distance - d.base, d.bits);
	}
	put_length_code(s, c.lengths, END);
}

/* The lengths of the codes as a sequence with runs: symbol, and the bits that follow it. */
struct runs {
	int n;
	uint8_t symbol[DEFLATER_LENGTHS + DEFLATER_DISTANCES], extra[DEFLATER_LENGTHS + DEFLATER_DISTANCES];
};

static void add_run(struct runs *r, uint8_t symbol, int extra)
{
	r->symbol[r->n] = symbol;
	r->extra[r->n++] = (uint8_t)extra;
}

static void find_runs(struct runs *r, const uint8_t *length, int n)
{
	for (int at = 0; at < n;) {
		int same = 1, zero = !length[at];
		while (at + same < n && length[at + same] == length[at] && same < (zero ? 138 : 7))
			same++;
		if (zero && same >= 3) {
			add_run(r, same > 10 ? 18 : 17, same - (same > 10 ? 11 : 3));
		} else {
			add_run(r, length[at], 0);
			same = !zero && same >= 4 ? same : 1;
			if (same > 1)
				add_run(r, 16, same - 4);
		}
		at += same;
	}
}

static int used_symbols(const struct huffman_code *c, int n, int least)
{
	while (n > least && !c->length[n - 1])
		n--;
	return n;
}

static void put_head(struct deflater *s, const struct huffman_code *lengths, const struct huffman_code *distances)
{
	static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
	static const uint8_t extra_bits[19] = {[16] = 2, [17] = 3, [18] = 7};
	int nlengths = used_symbols(lengths, DEFLATER_LENGTHS, 257);
	int ndistances = used_symbols(distances, DEFLATER_DISTANCES, 1), norder = 19;
	uint8_t all[DEFLATER_LENGTHS + DEFLATER_DISTANCES];
	uint32_t count[19] = {0};
	struct runs runs = {0};
	struct huffman_code code;
	memcpy(all, lengths->length, (size_t)nlengths);
	memcpy(all + nlengths, distances->length, (size_t)ndistances);
	find_runs(&runs, all, nlengths + ndistances);
	for (int k = 0; k < runs.n; k++)
		count[runs.symbol[k]]++;
	huffman_make(&code, count, 19, 7);
	while (norder > 4 && !code.length[order[norder - 1]])
		norder--;
	bits_put(&s->sink, (uint32_t)(nlengths - 257), 5);
	bits_put(&s->sink, (uint32_t)(ndistances - 1), 5);
	bits_put(&s->sink, (uint32_t)(norder - 4), 4);
	for (int k = 0; k < norder; k++)
		bits_put(&s->sink, code.length[order[k]], 3);
	for (int k = 0; k < runs.n; k++) {
		put_code(s, &code, runs.symbol[k]);
		bits_put(&s->sink, runs.extra[k], extra_bits[runs.symbol[k]]);
	}
}

/* Without what follows codes of lengths and distances, which is the same for all codes. */
static uint64_t fixed_cost(const struct deflater *s)
{
	uint64_t bits = (uint64_t)fixed_length(END);
	for (uint32_t k = 0; k < s->tokens; k++) {
		uint32_t length = s->token[k] >> 16, byte = s->token[k] & 0xffff;
		bits += (uint64_t)(length ? fixed_length(length_class(length).symbol) + FIXED_DISTANCE
					  : fixed_length(byte));
	}
	return bits;
}

static uint64_t cost(const struct deflater *s, const struct huffman_code *lengths, const struct huffman_code *distances)
{
	uint64_t bits = 0;
	for (int k = 0; k < DEFLATER_LENGTHS; k++)
		bits += (uint64_t)s->lengths[k] * lengths->length[k];
	for (int k = 0; k < DEFLATER_DISTANCES; k++)
		bits += (uint64_t)s->distances[k] * distances->length[k];
	return bits;
}

enum { FIXED_TOKENS = 400, HEAD_GUESS = 400 };

/* True: without a head. */
static bool choose_codes(struct deflater *s, struct huffman_code *lengths, struct huffman_code *distances)
{
	uint64_t fixed = s->tokens < FIXED_TOKENS ? fixed_cost(s) : UINT64_MAX;
	if (fixed >= HEAD_GUESS) {
		huffman_make(lengths, s->lengths, DEFLATER_LENGTHS, HUFFMAN_LONGEST);
		huffman_make(distances, s->distances, DEFLATER_DISTANCES, HUFFMAN_LONGEST);
		if (fixed >= cost(s, lengths, distances) + HEAD_GUESS)
			return false;
	}
	return true;
}

static int put_block(struct deflater *s, bool last)
{
	struct huffman_code lengths, distances;
	if (log_bytes_room(&s->out, ((size_t)s->tokens * TOKEN_BITS + HEAD_BITS) / 8) < 0)
		return LOG_E_MEMORY;
	s->sink.out = &s->out;
	s->lengths[END] = 1;
	bool plain = choose_codes(s, &lengths, &distances);
	bits_put(&s->sink, (uint32_t)last | (plain ? 1 : 2) << 1, 3);
	if (!plain)
		put_head(s, &lengths, &distances);
	if (plain)
		put_tokens(s, (struct codes){NULL, NULL});
	else
		put_tokens(s, (struct codes){&lengths, &distances});
	s->tokens = 0;
	memset(s->lengths, 0, sizeof s->lengths);
	memset(s->distances, 0, sizeof s->distances);
	return 0;
}

/* ---- tokens ---- */

static void literal(struct deflater *s, uint8_t byte)
{
	s->token[s->tokens++] = byte;
	s->lengths[byte]++;
}

/* Pieces of the longest length, and no rest that is too short for one. */
static void match(struct deflater *s, size_t n, uint32_t distance)
{
	unsigned symbol = distance_class(distance).symbol;
	while (n) {
		uint32_t piece = n <= LONGEST ? (uint32_t)n : n < LONGEST + 3 ? LONGEST - 3 : LONGEST;
		s->token[s->tokens++] = piece << 16 | distance;
		s->lengths[length_class(piece).symbol]++;
		s->distances[symbol]++;
		n -= piece;
	}
}

static uint64_t word(const uint8_t *at)
{
	uint64_t w;
	memcpy(&w, at, sizeof w);
	return w;
}

enum { STRIDE = 32 };

static uint64_t difference(const uint8_t *a, const uint8_t *b)
{
	return (word(a) ^ word(b)) | (word(a + 8) ^ word(b + 8)) | (word(a + 16) ^ word(b + 16)) |
	       (word(a + 24) ^ word(b + 24));
}

static uint64_t contents(const uint8_t *a)
{
	return word(a) | word(a + 8) | word(a + 16) | word(a + 24);
}

static size_t equal(const uint8_t *a, const uint8_t *b, size_t n)
{
	size_t at = 0;
	while (at + STRIDE <= n && !difference(a + at, b + at))
		at += STRIDE;
	for (; at + 8 <= n; at += 8) {
		uint64_t differ = word(a + at) ^ word(b + at);
		if (differ)
			return at + (size_t)__builtin_ctzll(differ) / 8;
	}
	while (at < n && a[at] == b[at])
		at++;
	return at;
}

static size_t zeros(const uint8_t *a, size_t n)
{
	size_t at = 0;
	while (at + STRIDE <= n && !contents(a + at))
		at += STRIDE;
	for (; at + 8 <= n; at += 8)
		if (word(a + at))
			return at + (size_t)__builtin_ctzll(word(a + at)) / 8;
	while (at < n && !a[at])
		at++;
	return at;
}

/* The piece that is shorter than the longest is cheaper at distance 1, where there are as many zeros. */
static void repeat_around_zeros(struct deflater *s, const uint8_t *at, size_t n, uint32_t distance)
{
	size_t rest = n % LONGEST, from = LONGEST;
	while (from < n && (rest < SHORTEST || at[from - 1] || zeros(at + from, n - from) < rest))
		from += LONGEST;
	if (from >= n) {
		match(s, n, distance);
		return;
	}
	match(s, from, distance);
	match(s, rest, 1);
	match(s, n - from - rest, distance);
}

/* What is equal to the record before: of its long tail of zeros all but the first pieces are cheaper at distance 1. */
static void repeat(struct deflater *s, const uint8_t *at, size_t n, uint32_t distance)
{
	size_t tail = n;
	while (tail >= STRIDE && !contents(at + tail - STRIDE))
		tail -= STRIDE;
	while (tail >= 8 && !word(at + tail - 8))
		tail -= 8;
	size_t first = (tail + LONGEST - 1) / LONGEST * LONGEST;
	if (!tail || at[tail - 1] || n < first + SHORTEST) {
		repeat_around_zeros(s, at, n, distance);
		return;
	}
	match(s, first, distance);
	match(s, n - first, 1);
}

enum { FEW = 4096, FEW_BITS = 9, SEEN_BITS = 12, LIKE_BITS = 8, UPPER = 3 };

_Static_assert(1 << SEEN_BITS == DEFLATER_SEEN && 1 << LIKE_BITS == DEFLATER_LIKE, "the tables are used as a whole");

/* How far before `at` are its number and the one behind it? 0 = not known. */
static uint32_t recall(struct deflater *s, uint32_t at)
{
	const uint8_t *here = s->window + at;
	uint64_t number = word(here) + 31 * word(here + NUMBER);
	int bits = s->used <= FEW ? FEW_BITS : SEEN_BITS; /* what has just begun is not spread over several pages */
	uint32_t *seen = &s->seen[number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits)], before = *seen;
	uint32_t place = s->base + at + 1, back = place - before;
	if (s->pair == place)
		return s->pair_back;
	*seen = s->pair = place;
	bool known = before > s->base && back <= WINDOW && word(here - back) == word(here);
	return s->pair_back = known ? back : 0;
}

struct found {
	size_t length;
	uint32_t distance;
};

/* As it was `distance` before. */
static void consider(const struct deflater *s, uint32_t at, uint32_t end, uint32_t distance, struct found *best)
{
	const uint8_t *here = s->window + at;
	if (!distance || distance > at || distance > WINDOW || here[0] != here[-(ptrdiff_t)distance])
		return;
	size_t length = equal(here, here - distance, end - at);
	if (length > best->length || (length == best->length && distance < best->distance))
		*best = (struct found){length, distance};
}

/* Where what is being written began and ends, and where the record before began as this one does, or ended as it will. */
struct span {
	uint32_t from, end, back, tail;
	bool numbers;
};

/* How far before it is the last number with the same upper bytes? 0 = there is none. */
static uint32_t like_this(struct deflater *s, uint32_t number)
{
	uint64_t upper = word(s->window + number) >> 8 * (NUMBER - UPPER);
	uint32_t *like = &s->like[upper * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LIKE_BITS)], before = *like;
	uint32_t place = s->base + number + 1;
	if (s->number != place) {
		*like = s->number = place;
		s->far = before > s->base ? place - before : 0;
	}
	return s->far;
}

/* Parts of a number, but of a record's first one, its id: those of the numbers just before it have short codes. */
static void consider_parts(struct deflater *s, const struct span *p, uint32_t at, struct found *best)
{
	uint32_t within = (at - p->from) % NUMBER, number = at - within;
	uint32_t like = number + NUMBER <= p->end ? like_this(s, number) : 0;
	if (s->window[at] == 0xff) /* -1 */
		consider(s, at, p->end, 1, best);
	consider(s, at, p->end, 2 * NUMBER, best);
	consider(s, at, p->end, 3 * NUMBER, best);
	if (within <= NUMBER - UPPER)
		consider(s, at, p->end, like, best);
}

/* The rest of a record, from the next two numbers on, is often that of an earlier one: its durations have few bits. */
static void consider_rest(struct deflater *s, const struct span *p, uint32_t at, struct found *best)
{
	struct found far = {0, 0};
	uint32_t next = p->from + (at - p->from + NUMBER - 1) / NUMBER * NUMBER;
	if (next + NUMBER <= p->end && !word(s->window + next))
		next += NUMBER;
	if (next + 2 * NUMBER > p->end || !word(s->window + next))
		return;
	consider(s, at, p->end, recall(s, next), &far);
	if (far.length >= best->length + FARTHER)
		*best = far;
}

static struct found find(struct deflater *s, const struct span *p, uint32_t at)
{
	const uint8_t *here = s->window + at;
	struct found best = {0, p->back};
	if (p->numbers && at && !here[0] && !here[-1])
		best = (struct found){zeros(here, p->end - at), 1};
	consider(s, at, p->end, p->back, &best);
	if (p->numbers && best.length >= NUMBER && best.length < FEW_NUMBERS && at - p->from >= 4 * NUMBER) {
		consider(s, at, p->end, 3 * NUMBER, &best);
		consider(s, at, p->end, 4 * NUMBER, &best);
	}
	if (p->numbers && best.length < MANY_NUMBERS && at - p->from >= NUMBER)
		consider_rest(s, p, at, &best);
	if (best.length >= NUMBER)
		return best;
	consider(s, at, p->end, p->numbers ? NUMBER : p->tail, &best);
	if (p->numbers && best.length < NUMBER && at - p->from >= NUMBER)
		consider_parts(s, p, at, &best);
	uint32_t within = at - p->from;
	bool whole = p->end - at >= 2 * NUMBER && (p->numbers ? within % NUMBER == 0 : within >= NUMBER);
	if (whole && best.length < NUMBER)
		consider(s, at, p->end, recall(s, at), &best);
	return best;
}

static void tokens_of(struct deflater *s, uint32_t from, uint32_t end)
{
	uint32_t back = from - s->last, tail = end - from;
	struct span span = {from, end, back, tail, tail % NUMBER == 0 && (!back || back == tail)};
	for (uint32_t at = from; at < end;) {
		struct found f = find(s, &span, at);
		if (f.length < SHORTEST)
			literal(s, s->window[at++]);
		else if (f.distance == back && span.numbers)
			repeat(s, s->window + at, f.length, back);
		else
			match(s, f.length, f.distance);
		at += f.length < SHORTEST ? 0 : (uint32_t)f.length;
	}
}

/* ---- the stream ---- */

enum { ADLER = 65521, ADLER_BYTES = 4096 };

/* The bytes of a word, each in 16 bits, times what the four of them count in the sum of sums, added up in the topmost. */
static uint64_t weigh(uint64_t number, uint64_t even, uint64_t odd)
{
	const uint64_t mask = UINT64_C(0x00ff00ff00ff00ff);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	number = __builtin_bswap64(number);
#endif
	return ((number & mask) * even + (number >> 8 & mask) * odd) >> 48;
}

static void sum_word(uint64_t number, uint64_t *ones, uint64_t *sums)
{
	*sums += 8 * *ones;
	if (!number)
		return;
	*sums += weigh(number, UINT64_C(0x0008000600040002), UINT64_C(0x0007000500030001));
	*ones += weigh(number, UINT64_C(0x0001000100010001), UINT64_C(0x0001000100010001));
}

static void sum(struct deflater *s, const uint8_t *at, size_t n)
{
	uint64_t ones = s->ones, sums = s->sums;
	while (n) {
		size_t piece = n < ADLER_BYTES ? n : ADLER_BYTES, k = 0;
		while (k + 8 <= piece) {
			if (k + STRIDE <= piece && !contents(at + k)) {
				sums += STRIDE * ones;
				k += STRIDE;
				continue;
			}
			sum_word(word(at + k), &ones, &sums);
			k += 8;
		}
		for (; k < piece; k++)
			sums += ones += at[k];
		ones %= ADLER;
		sums %= ADLER;
		at += piece;
		n -= piece;
	}
	s->ones = (uint32_t)ones;
	s->sums = (uint32_t)sums;
}

struct deflater *deflater_make(void)
{
	return log_alloc(sizeof(struct deflater));
}

/* The first n bytes of the window go: what was seen there counts no more. */
static void forget(struct deflater *s, uint32_t n)
{
	s->base += n;
	if (s->base < UINT32_MAX / 2)
		return;
	memset(s->seen, 0, sizeof s->seen);
	memset(s->like, 0, sizeof s->like);
	s->number = s->pair = 0;
	s->base = 0;
}

static int begin(struct deflater *s)
{
	s->begun = true;
	s->ones = 1;
	s->sums = 0;
	forget(s, s->used);
	s->used = s->last = 0;
	s->seen[0] = 0; /* a page that is read before it is written is touched twice */
	s->sink = (struct bit_sink){0};
	return log_bytes_add(&s->out, "\x78\x5e", 2); /* deflate, 32 KiB window, fast */
}

/* Makes room for n more bytes in the window, whose older half goes. */
static void slide(struct deflater *s, uint32_t n)
{
	if (s->used + n <= DEFLATER_WINDOW)
		return;
	uint32_t gone = s->used - WINDOW;
	memmove(s->window, s->window + gone, WINDOW);
	s->used = WINDOW;
	s->last = s->last > gone ? s->last - gone : WINDOW;
	forget(s, gone);
}

static int add_piece(struct deflater *s, const uint8_t *at, uint32_t n)
{
	if (n > DEFLATER_TOKENS - s->tokens && put_block(s, false) < 0)
		return LOG_E_MEMORY;
	slide(s, n);
	uint32_t from = s->used;
	memcpy(s->window + from, at, n);
	s->used += n;
	tokens_of(s, from, s->used);
	s->last = from;
	return 0;
}

int deflater_add(struct deflater *s, const void *record, size_t n)
{
	const uint8_t *at = record;
	int code = s->begun ? 0 : begin(s);
	sum(s, at, n);
	for (size_t done = 0; code >= 0 && done < n; done += DEFLATER_TOKENS)
		code = add_piece(s, at + done, n - done < DEFLATER_TOKENS ? (uint32_t)(n - done) : DEFLATER_TOKENS);
	return code;
}

int deflater_end(struct deflater *s)
{
	if (!s->begun)
		return 0;
	s->begun = false;
	if (put_block(s, true) < 0 || log_bytes_room(&s->out, 16) < 0)
		return LOG_E_MEMORY;
	bits_end(&s->sink);
	const uint8_t check[] = {(uint8_t)(s->sums >> 8), (uint8_t)s->sums, (uint8_t)(s->ones >> 8), (uint8_t)s->ones};
	return log_bytes_add(&s->out, check, sizeof check);
}

void deflater_free(struct deflater *s)
{
	if (s)
		log_bytes_free(&s->out);
	log_free(s);
}
