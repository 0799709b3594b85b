/* Texts of logs are bytes; Arrow's are UTF-8. */
#include <string.h>

#include "table.h"

/* Bytes of the UTF-8 character at s, 0 if it is none. */
static size_t utf8_length(const uint8_t *s, size_t n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
	if (length <= 1 || length > n)
		return length > n ? 0 : length;
	uint32_t c = *s & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	bool surrogate = c >= 0xd800 && c < 0xe000;
	return c < least[length] || c > 0x10ffff || surrogate ? 0 : length;
}

static size_t ascii_length(const uint8_t *s, size_t n)
{
	size_t i = 0;
	uint64_t eight;
	for (; i + 8 <= n; i += 8) {
		memcpy(&eight, s + i, 8);
		if (eight & 0x8080808080808080u)
			break;
	}
	while (i < n && s[i] < 0x80)
		i++;
	return i;
}

int text_append(struct log_bytes *to, const char *text, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *s = (const uint8_t *)text;
	if (log_bytes_room(to, 4 * n + 1) < 0)
		return LOG_E_MEMORY;
	for (size_t i = 0; i < n;) {
		size_t good = ascii_length(s + i, n - i);
		good = good || i == n ? good : utf8_length(s + i, n - i);
		memcpy(to->at + to->used, s + i, good);
		to->used += good;
		i += good;
		if (good)
			continue;
		char escaped[] = {'\\', 'x', digits[s[i] >> 4], digits[s[i] & 15]};
		memcpy(to->at + to->used, escaped, sizeof escaped);
		to->used += sizeof escaped;
		i++;
	}
	return LOG_OK;
}

struct dictionary *dictionary_new(size_t room)
{
	struct dictionary *d = room < INT32_MAX / 4 ? log_alloc(sizeof *d) : NULL;
	if (!d)
		return NULL;
	atomic_init(&d->refs, 1);
	d->index_size = 16;
	while (d->index_size < 2 * room)
		d->index_size *= 2;
	d->offsets = log_alloc((room + 1) * sizeof *d->offsets);
	d->index = log_alloc(d->index_size * sizeof *d->index);
	if (d->offsets && d->index)
		return d;
	dictionary_drop(d);
	return NULL;
}

static size_t first_place(const struct dictionary *d, const uint8_t *text, size_t n)
{
	uint64_t hash = n, eight;
	for (size_t i = 0; i < n; i += 8) {
		eight = 0;
		memcpy(&eight, text + i, n - i < 8 ? n - i : 8);
		hash = (hash ^ eight) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return (size_t)(hash >> 7) & (d->index_size - 1);
}

int32_t dictionary_add(struct dictionary *d, const char *text, size_t n)
{
	size_t from = d->bytes.used;
	int code = text_append(&d->bytes, text, n);
	if (code < 0 || d->bytes.used > INT32_MAX)
		return LOG_E_MEMORY;
	size_t length = d->bytes.used - from, at = first_place(d, d->bytes.at + from, length);
	for (; d->index[at]; at = (at + 1) & (d->index_size - 1)) {
		int32_t number = (int32_t)d->index[at] - 1, start = d->offsets[number];
		if ((size_t)(d->offsets[number + 1] - start) != length ||
		    memcmp(d->bytes.at + start, d->bytes.at + from, length))
			continue;
		d->bytes.used = from;
		return number;
	}
	d->offsets[++d->count] = (int32_t)d->bytes.used;
	d->index[at] = (uint32_t)d->count;
	return d->count - 1;
}

struct dictionary *dictionary_hold(struct dictionary *d)
{
	atomic_fetch_add(&d->refs, 1);
	return d;
}

void dictionary_drop(struct dictionary *d)
{
	if (!d || atomic_fetch_sub(&d->refs, 1) > 1)
		return;
	log_free(d->offsets);
	log_free(d->index);
	log_bytes_free(&d->bytes);
	log_free(d);
}
