/* Keys out of the bytes that a terminal sends for them. */
#ifndef IOLENS_LIVE_KEYS_H
#define IOLENS_LIVE_KEYS_H

#include <stddef.h>

enum live_key {
	KEY_TAB = '\t',
	KEY_ENTER = '\n',
	KEY_ESCAPE = 0x1b,
	KEY_BACKSPACE = 0x7f,
	KEY_UP = 0x100,
	KEY_DOWN,
	KEY_RIGHT,
	KEY_LEFT,
	KEY_HOME,
	KEY_END,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_BACK_TAB,
	KEY_OTHER
};

/* The first key in n > 0 bytes; returns how many it took, at least 1. Letters are themselves. */
size_t live_key(const char *bytes, size_t n, int *key);

#endif
