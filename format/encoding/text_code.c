#include "text_code.h"

#include <string.h>

#include "error.h"
#include "huffman.h"

/* Symbols: the printable letters from the blank on, and these. */
enum {
	BLANK = 32,
	TEXT_END = 95,
	TEXT_WORD, /* the whole text is a word; no end follows */
	TEXT_BACK, /* so many letters as they were so far before */
	TEXT_HEX,  /* so many digits */
	TEXT_BYTE,
	SYMBOLS,
	LONGEST = 11,
	WORD_BITS = 10,
	BACK_LEAST = 4,
	BACK_WORTH = 5,
	BACK_BITS = 5,
	HEX_LEAST = 8,
	HEX_BITS = 6,
	PLACES = 512,
	ROOM = 4, /* bytes that a letter takes at most, and any other symbol with what follows it */
};

/* By how often they are in paths, names of hosts, processors and kernels, and mounts' options. */
static const uint8_t lengths[SYMBOLS] = {
	/* clang-format off */
	6, 11, 10, 10, 10, 10, 10, 10, 9, 9, 10, 10, 7, 6, 5, 4, 5, 6, 6, 7,
	6, 7, 6, 8, 7, 8, 10, 10, 10, 8, 10, 10, 10, 10, 10, 9, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 10, 10, 10, 9, 10, 9, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 6, 10, 5, 6, 6, 6, 5, 7, 7, 7, 5, 9, 9, 5, 6, 5, 5,
	6, 10, 5, 5, 5, 5, 8, 8, 7, 8, 9, 10, 10, 10, 10, 4, 3, 5, 7, 11,
	/* clang-format on */
};

/* What is before the first text. */
static const char before[] =
	"/usr/lib/x86_64-linux-gnu/lib.so.6/usr/bin/python3/home/scratch/projects/lustre/gpfs,relatime,"
	"errors=remount-ro,size=,nr_inodes=,mode=755Intel(R) Xeon(R) Platinum Gold CPU @ 2.GHz"
	"AMD EPYC 7-Core Processor/user.slice/session-.scope/slurm/uid_/job_/step_0/task_0-generic."
	"x86_64.el";

enum { BEFORE = sizeof before - 1 };

static void make_code(struct huffman_code *c)
{
	memcpy(c->length, lengths, SYMBOLS);
	huffman_assign(c, SYMBOLS);
}

static unsigned length_bits(size_t n)
{
	return 64 - (unsigned)__builtin_clzll(n);
}

/* ---- writing ---- */

struct writing {
	struct log_bytes *out;
	struct bit_sink sink;
	struct huffman_code code;
	struct log_bytes all;   /* what was before, and the texts so far */
	uint32_t place[PLACES]; /* where four letters were, by their hash: behind them */
};

static void put(struct writing *w, int symbol, uint32_t more, unsigned bits)
{
	bits_put(&w->sink, w->code.bits[symbol], w->code.length[symbol]);
	bits_put(&w->sink, more, bits);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t hex_digits(const char *at, size_t n)
{
	size_t k = 0;
	while (k < n && k < HEX_LEAST + (1 << HEX_BITS) - 1 && hex_digit(at[k]) >= 0)
		k++;
	return k < HEX_LEAST ? 0 : k;
}

static void put_hex(struct writing *w, const char *at, size_t n)
{
	put(w, TEXT_HEX, (uint32_t)(n - HEX_LEAST), HEX_BITS);
	for (size_t k = 0; k < n; k++)
		bits_put(&w->sink, (uint32_t)hex_digit(at[k]), 4);
}

/* The letters that end at `end`, which are now known. */
static uint32_t *place_of(struct writing *w, size_t end)
{
	uint32_t letters;
	memcpy(&letters, w->all.at + end - BACK_LEAST, sizeof letters);
	return &w->place[letters * 0x9e3779b1u >> 23];
}

static void learn(struct writing *w, size_t from, size_t to)
{
	for (size_t end = from < BACK_LEAST ? BACK_LEAST : from; end <= to; end++)
		*place_of(w, end) = (uint32_t)end;
}

/* How many letters from `at` on are as they were earlier, and how far before. */
static size_t find_back(struct writing *w, size_t at, size_t end, size_t *distance)
{
	if (end - at < BACK_WORTH)
		return 0;
	size_t was = *place_of(w, at + BACK_LEAST), n = 0;
	if (!was || was > at)
		return 0;
	was -= BACK_LEAST;
	while (n < end - at && n < BACK_LEAST + (1 << BACK_BITS) - 1 && w->all.at[was + n] == w->all.at[at + n])
		n++;
	*distance = at - was;
	return n < BACK_WORTH ? 0 : n;
}

static void put_letter(struct writing *w, char c)
{
	if (c >= BLANK && c < BLANK + TEXT_END)
		put(w, c - BLANK, 0, 0);
	else
		put(w, TEXT_BYTE, (uint8_t)c, 8);
}

static void put_text(struct writing *w, size_t at, size_t end)
{
	size_t distance = 0;
	while (at < end) {
		size_t back = find_back(w, at, end, &distance), from = at;
		size_t hex = back ? 0 : hex_digits((const char *)w->all.at + at, end - at);
		if (back)
			put(w, TEXT_BACK, (uint32_t)(back - BACK_LEAST), BACK_BITS);
		if (back)
			bits_put(&w->sink, (uint32_t)distance, length_bits(at));
		else if (hex)
			put_hex(w, (const char *)w->all.at + at, hex);
		else
			put_letter(w, (char)w->all.at[at]);
		at += back ? back : hex ? hex : 1;
		learn(w, from + 1, at);
	}
	put(w, TEXT_END, 0, 0);
}

static int write_texts(struct writing *w, const struct word *text, size_t n)
{
	int code = log_bytes_add(&w->all, before, BEFORE);
	if (code >= 0)
		learn(w, BACK_LEAST, BEFORE);
	for (size_t k = 0; k < n && code >= 0; k++) {
		size_t at = w->all.used;
		uint64_t number = dictionary_find(text[k], 0);
		code = log_bytes_add(&w->all, text[k].at, text[k].length);
		code = code < 0 ? code : log_bytes_room(w->out, (text[k].length + 3) * ROOM);
		if (code >= 0 && number != DICTIONARY_NONE)
			put(w, TEXT_WORD, (uint32_t)number, WORD_BITS);
		else if (code >= 0)
			put_text(w, at, w->all.used);
	}
	if (code >= 0)
		bits_end(&w->sink);
	return code;
}

int text_code_write(struct log_bytes *out, const struct word *text, size_t n)
{
	struct log_bytes bits = {0};
	struct writing *w = log_alloc(sizeof *w);
	if (!w)
		return LOG_E_MEMORY;
	w->out = w->sink.out = &bits;
	make_code(&w->code);
	int code = write_texts(w, text, n);
	code = code < 0 ? code : add_number(out, bits.used);
	code = code < 0 ? code : log_bytes_add(out, bits.at, bits.used);
	log_bytes_free(&w->all);
	log_bytes_free(&bits);
	log_free(w);
	return code;
}

/* ---- reading ---- */

struct reading {
	struct bit_source in;
	uint16_t first[LONGEST + 2], count[LONGEST + 2]; /* codes of each length */
	uint8_t symbol[SYMBOLS];                         /* in the order of their codes */
	struct log_bytes all;
	size_t most; /* bytes of `all` */
};

static void sort_symbols(struct reading *r)
{
	uint16_t next = 0;
	size_t n = 0;
	for (int length = 1; length <= LONGEST; length++) {
		r->first[length] = next;
		for (int s = 0; s < SYMBOLS; s++)
			if (lengths[s] == length)
				r->symbol[n++] = (uint8_t)s;
		r->count[length] = (uint16_t)(n - next);
		next = (uint16_t)n;
	}
}

static int take_symbol(struct reading *r)
{
	unsigned code = 0, begins = 0;
	for (int length = 1; length <= LONGEST && !r->in.failed; length++) {
		code = code << 1 | (unsigned)bits_take(&r->in, 1);
		begins = (begins + (length > 1 ? r->count[length - 1] : 0)) << 1;
		if (code - begins < r->count[length])
			return r->symbol[r->first[length] + code - begins];
	}
	return -1;
}

static int add_byte(struct reading *r, uint8_t byte)
{
	return r->all.used >= r->most ? LOG_E_DAMAGED : log_bytes_add(&r->all, &byte, 1);
}

static int take_back(struct reading *r)
{
	size_t n = (size_t)bits_take(&r->in, BACK_BITS) + BACK_LEAST;
	size_t distance = (size_t)bits_take(&r->in, length_bits(r->all.used));
	int code = !distance || distance > r->all.used ? LOG_E_DAMAGED : LOG_OK;
	for (; n && code >= 0; n--)
		code = add_byte(r, r->all.at[r->all.used - distance]);
	return code;
}

static int take_hex(struct reading *r)
{
	int code = LOG_OK;
	for (size_t n = (size_t)bits_take(&r->in, HEX_BITS) + HEX_LEAST; n && code >= 0; n--)
		code = add_byte(r, (uint8_t) "0123456789abcdef"[bits_take(&r->in, 4)]);
	return code;
}

static int take_word(struct reading *r)
{
	struct word word = dictionary_at(bits_take(&r->in, WORD_BITS));
	bool fits = word.at && word.length <= r->most - r->all.used;
	return fits ? log_bytes_add(&r->all, word.at, word.length) : LOG_E_DAMAGED;
}

static int take_text(struct reading *r)
{
	int code = LOG_OK;
	for (bool first = true; code >= 0; first = false) {
		int symbol = take_symbol(r);
		if (symbol < 0 || (symbol == TEXT_WORD && !first))
			return LOG_E_DAMAGED;
		if (symbol == TEXT_END)
			break;
		if (symbol == TEXT_WORD)
			return take_word(r);
		code = symbol == TEXT_BACK  ? take_back(r)
		       : symbol == TEXT_HEX ? take_hex(r)
					    : add_byte(r, symbol == TEXT_BYTE ? (uint8_t)bits_take(&r->in, 8)
									      : (uint8_t)(BLANK + symbol));
	}
	return code < 0 ? code : r->in.failed ? LOG_E_DAMAGED : LOG_OK;
}

int text_code_read(struct cut *from, size_t n, struct log_bytes *out, struct string_place *place, size_t limit)
{
	uint64_t size;
	struct reading r = {.most = BEFORE + limit};
	if (cut_number(from, &size) < 0 || size > (uint64_t)(from->end - from->at) || limit > UINT32_MAX / 2)
		return LOG_E_DAMAGED;
	r.in = (struct bit_source){.at = from->at, .end = from->at + size};
	from->at += size;
	sort_symbols(&r);
	int code = log_bytes_add(&r.all, before, BEFORE);
	for (size_t k = 0; k < n && code >= 0; k++) {
		size_t at = r.all.used;
		code = take_text(&r);
		place[k] = (struct string_place){(uint32_t)(at - BEFORE + out->used), (uint32_t)(r.all.used - at)};
	}
	code = code < 0 ? code : log_bytes_add(out, r.all.at + BEFORE, r.all.used - BEFORE);
	log_bytes_free(&r.all);
	return code;
}
