#include "live_keys.h"

#include <string.h>

static const struct {
	const char *bytes;
	enum live_key key;
} sequences[] = {
	{"[A", KEY_UP},         {"OA", KEY_UP},       {"[B", KEY_DOWN}, {"OB", KEY_DOWN}, {"[C", KEY_RIGHT},
	{"OC", KEY_RIGHT},      {"[D", KEY_LEFT},     {"OD", KEY_LEFT}, {"[H", KEY_HOME}, {"OH", KEY_HOME},
	{"[1~", KEY_HOME},      {"[F", KEY_END},      {"OF", KEY_END},  {"[4~", KEY_END}, {"[5~", KEY_PAGE_UP},
	{"[6~", KEY_PAGE_DOWN}, {"[Z", KEY_BACK_TAB},
};

/* Of one that is not known: to its last byte. */
static size_t skip_sequence(const char *bytes, size_t n)
{
	size_t at = 1;
	while (at < n && (bytes[at] < 0x40 || bytes[at] > 0x7e))
		at++;
	return at < n ? at + 1 : n;
}

size_t live_key(const char *bytes, size_t n, int *key)
{
	*key = bytes[0] == '\r' ? KEY_ENTER : bytes[0] == '\b' ? KEY_BACKSPACE : (unsigned char)bytes[0];
	if (bytes[0] != KEY_ESCAPE || n == 1)
		return 1;
	for (size_t s = 0; s < sizeof sequences / sizeof *sequences; s++) {
		size_t length = strlen(sequences[s].bytes);
		if (n > length && memcmp(bytes + 1, sequences[s].bytes, length) == 0) {
			*key = sequences[s].key;
			return 1 + length;
		}
	}
	if (bytes[1] != '[' && bytes[1] != 'O')
		return 1;
	*key = KEY_OTHER;
	return 1 + skip_sequence(bytes + 1, n - 1);
}
