/*
 * Buffered text output that is fast for numbers: a large log gives gigabytes of lines, and printf would take most of the
 * time. Numbers look exactly as printf's.
 */
#ifndef IOLENS_OUTPUT_H
#define IOLENS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { OUTPUT_NUMBER = 352 }; /* bytes that any number fits in, with its slack */

struct output {
	int fd;
	char *at;
	size_t used, size;
	int error; /* errno of a failed write; nothing is written after it */
	bool terminal;
};

/* False: no memory. */
bool output_open(struct output *o, int fd);
void output_flush(struct output *o);
/* Flushes and frees; returns the errno of a failed write or 0. */
int output_close(struct output *o);

/* Makes room for n more bytes; false when there is no memory. */
bool output_room(struct output *o, size_t n);

void output_bytes(struct output *o, const char *text, size_t n);
void output_text(struct output *o, const char *text);
void output_format(struct output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A cell of CSV: in quotes, which are doubled inside. Its bytes are exact, but for a terminal: there as put_escaped has it. */
void output_quoted(struct output *o, const char *text);
/* The same without the quotes around it. */
void output_quoted_part(struct output *o, const char *text);

/* These write at `to`, which has room for OUTPUT_NUMBER bytes, and return the end. */
char *put_i64(char *to, int64_t value);
char *put_u64(char *to, uint64_t value);
char *put_fixed(char *to, double value); /* "%f" */
char *put_exact(char *to, double value); /* as many digits as it takes; "null" where it is no number */

/* Copies with slack: up to 31 bytes behind the end may be overwritten. */
static inline char *put_slack(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i += 32)
		memcpy(to + i, from + i, 32);
	return to + n;
}

/* Length of the UTF-8 sequence at `text`, and its character; 0 if it is none. */
size_t output_decode(const char *text, uint32_t *character);

/* Characters that a terminal obeys, or that change the direction of the others; all have 16 bits. */
bool output_hides(uint32_t character);

/*
 * The next character of a text as a terminal may show it: controls, marks that turn the direction of writing, and bytes
 * that are no UTF-8 as \\n, \\xNN for each byte. Returns how many bytes it took; `out` is a string.
 */
enum { OUTPUT_SHOWN = 20 };
size_t output_next(const char *text, char out[OUTPUT_SHOWN]);

/* A text without control characters, which would break the lines: tab becomes \t, others \n, \r, \xNN. */
void put_escaped(struct output *o, const char *text);

#endif
