#include "pseudonym.h"

#include <string.h>

static uint64_t rotate(uint64_t v, int by)
{
	return v << by | v >> (64 - by);
}

static void round_of(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static void absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	round_of(v);
	round_of(v);
	v[0] ^= word;
}

uint64_t pseudonym_number(const struct pseudonym_key *key, const void *data, size_t n)
{
	uint64_t v[4] = {key->k[0] ^ 0x736f6d6570736575, key->k[1] ^ 0x646f72616e646f6d, key->k[0] ^ 0x6c7967656e657261,
			 key->k[1] ^ 0x7465646279746573};
	const uint8_t *p = data;
	uint64_t word, last = (uint64_t)n << 56;
	size_t whole = n / 8;
	for (size_t i = 0; i < whole; i++) {
		memcpy(&word, p + 8 * i, 8);
		absorb(v, word);
	}
	for (size_t i = 8 * whole; i < n; i++)
		last |= (uint64_t)p[i] << (8 * (i - 8 * whole));
	absorb(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		round_of(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void pseudonym_text(const struct pseudonym_key *key, const char *text, size_t n, char out[PSEUDONYM_TEXT])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint64_t number = pseudonym_number(key, text, n);
	for (int i = 0; i < PSEUDONYM_TEXT - 1; i++, number >>= 5)
		out[i] = letters[number & 31];
	out[PSEUDONYM_TEXT - 1] = '\0';
}

/* Names that say nothing about who ran what: streams, and what has no record of its own. */
static const char *const own_components[] = {"<STDIN>",
					     "<STDOUT>",
					     "<STDERR>",
					     "<tmpfile>",
					     "<all other files>",
					     "<other files>",
					     "<other program files>",
					     "<other programs>"};

bool pseudonym_is_own(const char *text, size_t n)
{
	static const char heat[] = "heatmap:";
	for (size_t i = 0; i < sizeof own_components / sizeof *own_components; i++)
		if (strlen(own_components[i]) == n && !memcmp(text, own_components[i], n))
			return true;
	if (n <= strlen(heat) || memcmp(text, heat, strlen(heat)) != 0)
		return !n;
	for (size_t i = strlen(heat); i < n; i++)
		if (!(text[i] >= 'A' && text[i] <= 'Z') && text[i] != '-' && text[i] != '_')
			return false;
	return true;
}

size_t pseudonym_name(const struct pseudonym_key *key, const char *name, size_t keep, char *out, size_t room)
{
	size_t n = strlen(name), used = pseudonym_is_own(name, n) ? n : keep < n ? keep : n;
	if (used + 1 > room)
		return 0;
	memcpy(out, name, used);
	for (size_t at = used; at < n;) {
		size_t part = strcspn(name + at, "/:");
		if (used + part + PSEUDONYM_TEXT + 2 > room)
			return 0;
		if (pseudonym_is_own(name + at, part)) {
			memcpy(out + used, name + at, part);
			used += part;
		} else {
			pseudonym_text(key, name + at, part, out + used);
			used += PSEUDONYM_TEXT - 1;
		}
		at += part;
		if (at < n)
			out[used++] = name[at++];
	}
	out[used] = '\0';
	return used;
}
