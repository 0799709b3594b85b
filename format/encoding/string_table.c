#include "string_table.h"

#include <string.h>

#include "error.h"

enum { TEXT_WORD, TEXT_RUN, TEXT_WHOLE, TEXT_REST, SHARED_LEAST = 3 };

int add_number(struct log_bytes *out, uint64_t number)
{
	uint8_t byte[10];
	size_t n = 0;
	for (; number > 127; number >>= 7)
		byte[n++] = (uint8_t)(number | 128);
	byte[n++] = (uint8_t)number;
	return log_bytes_add(out, byte, n);
}

int cut_number(struct cut *from, uint64_t *number)
{
	*number = 0;
	for (unsigned shift = 0; from->at < from->end && shift < 64; shift += 7) {
		uint8_t byte = *from->at++;
		*number |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return LOG_OK;
	}
	return LOG_E_DAMAGED;
}

/* ---- writing ---- */

static size_t shared(struct word a, struct word b)
{
	size_t n = 0;
	while (n < a.length && n < b.length && a.at[n] == b.at[n])
		n++;
	return n;
}

static size_t run_length(const struct word *text, size_t n, uint64_t number)
{
	size_t run = 0;
	while (run < n) {
		struct word one = dictionary_at(number + run);
		if (!one.at || one.length != text[run].length || memcmp(one.at, text[run].at, one.length) != 0)
			break;
		run++;
	}
	return run;
}

static int write_text(struct log_bytes *out, struct word text, struct word before)
{
	size_t same = shared(text, before), rest = same < SHARED_LEAST ? 0 : same;
	int code = add_number(out, (uint64_t)(text.length - rest) << 2 | (rest ? TEXT_REST : TEXT_WHOLE));
	if (code >= 0 && rest)
		code = add_number(out, rest);
	return code < 0 ? code : log_bytes_add(out, text.at + rest, text.length - rest);
}

int string_table_write(struct log_bytes *out, const struct word *text, size_t n)
{
	struct word before = {0};
	int code = LOG_OK;
	uint64_t next = 0;
	for (size_t i = 0; i < n && code >= 0;) {
		uint64_t number = dictionary_find(text[i], next);
		size_t run = number == DICTIONARY_NONE ? 0 : run_length(text + i, n - i, number);
		if (run) {
			code = add_number(out, number << 2 | (run > 1 ? TEXT_RUN : TEXT_WORD));
			if (code >= 0 && run > 1)
				code = add_number(out, run);
			next = number + run;
		} else {
			code = write_text(out, text[i], before);
		}
		i += run ? run : 1;
		before = text[i - 1];
	}
	return code;
}

/* ---- reading ---- */

struct texts {
	struct cut *from;
	struct log_bytes *out;
	struct string_place *place, before;
	size_t begins; /* texts are from here on */
	size_t n, limit;
};

static int place(struct texts *t, struct word first, struct word rest)
{
	size_t length = first.length + rest.length;
	if (!t->n || length > t->limit - (t->out->used - t->begins) || t->out->used - t->begins > UINT32_MAX - length)
		return LOG_E_DAMAGED;
	t->n--;
	t->before = (struct string_place){(uint32_t)(t->out->used - t->begins), (uint32_t)length};
	if (t->place)
		*t->place++ = t->before;
	int code = log_bytes_room(t->out, length);
	if (code < 0)
		return code;
	if (first.length)
		memcpy(t->out->at + t->out->used, first.at, first.length);
	if (rest.length)
		memcpy(t->out->at + t->out->used + first.length, rest.at, rest.length);
	t->out->used += length;
	return LOG_OK;
}

static int place_words(struct texts *t, uint64_t number, bool run)
{
	uint64_t count = 1;
	int code = run ? cut_number(t->from, &count) : LOG_OK;
	for (uint64_t i = 0; i < count && code >= 0; i++) {
		struct word one = dictionary_at(number + i);
		code = one.at ? place(t, one, (struct word){0}) : LOG_E_DAMAGED;
	}
	return code;
}

static int place_text(struct texts *t, uint64_t length, bool rest)
{
	uint64_t same = 0;
	int code = rest ? cut_number(t->from, &same) : LOG_OK;
	if (code < 0 || length > (uint64_t)(t->from->end - t->from->at) || same > t->before.length)
		return LOG_E_DAMAGED;
	code = log_bytes_room(t->out, same + length); /* so that what is shared stays where it is */
	if (code < 0)
		return code;
	struct word first = {(const char *)t->out->at + t->begins + t->before.at, same};
	struct word last = {(const char *)t->from->at, length};
	t->from->at += length;
	return place(t, same ? first : (struct word){0}, last);
}

int string_table_read(struct cut *from, size_t n, struct log_bytes *out, struct string_place *places, size_t limit)
{
	struct texts t = {from, out, places, {0}, out->used, n, limit};
	int code = log_bytes_room(out, 1); /* it is somewhere, even if all texts are empty */
	while (t.n && code >= 0) {
		uint64_t what;
		if ((code = cut_number(from, &what)) < 0)
			break;
		unsigned kind = what & 3;
		if (kind == TEXT_WORD || kind == TEXT_RUN)
			code = place_words(&t, what >> 2, kind == TEXT_RUN);
		else
			code = place_text(&t, what >> 2, kind == TEXT_REST);
	}
	return code;
}
