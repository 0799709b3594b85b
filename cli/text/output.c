#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { OUTPUT_SIZE = 1 << 20, SLACK = 64 };

bool output_open(struct output *o, int fd)
{
	*o = (struct output){
		.fd = fd, .at = malloc(OUTPUT_SIZE + SLACK), .size = OUTPUT_SIZE, .terminal = isatty(fd) == 1};
	return o->at;
}

void output_flush(struct output *o)
{
	for (size_t done = 0; done < o->used && !o->error;) {
		ssize_t put = write(o->fd, o->at + done, o->used - done);
		if (put >= 0)
			done += (size_t)put;
		else if (errno != EINTR)
			o->error = errno;
	}
	o->used = 0;
}

int output_close(struct output *o)
{
	output_flush(o);
	free(o->at);
	o->at = NULL;
	return o->error;
}

bool output_room(struct output *o, size_t n)
{
	if (o->size - o->used >= n)
		return true;
	output_flush(o);
	if (o->size >= n)
		return true;
	char *at = realloc(o->at, n + SLACK);
	if (!at)
		return false;
	o->at = at;
	o->size = n;
	return true;
}

void output_bytes(struct output *o, const char *text, size_t n)
{
	if (!output_room(o, n))
		return;
	memcpy(o->at + o->used, text, n);
	o->used += n;
}

void output_text(struct output *o, const char *text)
{
	output_bytes(o, text, strlen(text));
}

void output_format(struct output *o, const char *format, ...)
{
	char text[8192];
	va_list list;
	va_start(list, format);
	int n = vsnprintf(text, sizeof text, format, list);
	va_end(list);
	if (n > 0)
		output_bytes(o, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
			    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
			    "8081828384858687888990919293949596979899";

char *put_u64(char *to, uint64_t value)
{
	char digits[24], *at = digits + sizeof digits;
	for (; value >= 100; value /= 100)
		memcpy(at -= 2, pairs + 2 * (value % 100), 2);
	if (value >= 10)
		memcpy(at -= 2, pairs + 2 * value, 2);
	else
		*--at = (char)('0' + value);
	size_t n = (size_t)(digits + sizeof digits - at);
	memcpy(to, at, n);
	return to + n;
}

char *put_i64(char *to, int64_t value)
{
	if (value >= 0)
		return put_u64(to, (uint64_t)value);
	*to = '-';
	return put_u64(to + 1, -(uint64_t)value);
}

enum { MILLION = 1000000 };

/*
 * A double is m * 2^-shift: its integer part is a shift, and a million times its fraction fits in 128 bits, so the six
 * decimals and the rounding (half to even, as printf's) are exact.
 */
static void split(uint64_t m, int shift, uint64_t *whole, uint32_t *millionths)
{
	unsigned __int128 fraction = m;
	*whole = shift < 64 ? m >> shift : 0;
	if (shift < 64)
		fraction = m - (*whole << shift);
	fraction *= MILLION;
	unsigned __int128 half = (unsigned __int128)1 << (shift - 1);
	unsigned __int128 rest = fraction & (half * 2 - 1);
	uint32_t q = (uint32_t)(fraction >> shift);
	q += rest > half || (rest == half && (q & 1));
	*whole += q == MILLION;
	*millionths = q == MILLION ? 0 : q;
}

static char *put_six(char *to, uint32_t v)
{
	memcpy(to, pairs + 2 * (v / 10000), 2);
	memcpy(to + 2, pairs + 2 * (v / 100 % 100), 2);
	memcpy(to + 4, pairs + 2 * (v % 100), 2);
	return to + 6;
}

char *put_fixed(char *to, double value)
{
	uint64_t bits, whole = 0;
	uint32_t millionths = 0;
	memcpy(&bits, &value, sizeof bits);
	int exponent = (int)(bits >> 52 & 0x7ff);
	int shift = 1075 - exponent;
	if (exponent == 0x7ff || shift < 1)
		return to + snprintf(to, OUTPUT_NUMBER, "%f", value);
	if (bits >> 63)
		*to++ = '-';
	/* below 2^-22 everything rounds to 0.000000 */
	if (shift < 76)
		split((bits & 0xfffffffffffff) | 1ull << 52, shift, &whole, &millionths);
	to = put_u64(to, whole);
	*to++ = '.';
	return put_six(to, millionths);
}

size_t output_decode(const char *text, uint32_t *character)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t n = *at < 0x80                  ? 1
		   : *at >= 0xc2 && *at < 0xe0 ? 2
		   : *at >= 0xe0 && *at < 0xf0 ? 3
		   : *at >= 0xf0 && *at < 0xf5 ? 4
					       : 0;
	*character = n == 1 ? *at : n ? *at & (0x7fu >> n) : 0;
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | (at[i] & 0x3f);
	}
	return n;
}

bool output_hides(uint32_t c)
{
	static const uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200f},
					     {0x2028, 0x202e}, {0x2060, 0x2069}, {0xd800, 0xdfff}, {0xfeff, 0xfeff}};
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

size_t output_next(const char *text, char out[OUTPUT_SHOWN])
{
	uint32_t character;
	size_t n = output_decode(text, &character), taken = n ? n : 1, used = 0;
	const char *named = character < ' ' && n ? strchr("\tt\nn\rr", *text) : NULL;
	if (named)
		snprintf(out, OUTPUT_SHOWN, "\\%c", named[1]);
	else if (n && !output_hides(character))
		snprintf(out, OUTPUT_SHOWN, "%.*s", (int)n, text);
	else
		for (size_t i = 0; i < taken; i++)
			used += (size_t)snprintf(out + used, OUTPUT_SHOWN - used, "\\x%02x", (unsigned char)text[i]);
	return taken;
}

void put_escaped(struct output *o, const char *text)
{
	char shown[OUTPUT_SHOWN];
	while (*text) {
		size_t plain = 0;
		while (text[plain] >= ' ' && text[plain] < 0x7f)
			plain++;
		output_bytes(o, text, plain);
		text += plain;
		if (!*text)
			break;
		text += output_next(text, shown);
		output_text(o, shown);
	}
}

char *put_exact(char *to, double value)
{
	int n = 1;
	if (!isfinite(value))
		n = sprintf(to, "null");
	else if (value == 0)
		*to = '0';
	else if (fabs(value) < 1e15 && value == (double)(int64_t)value)
		return put_i64(to, (int64_t)value);
	else if (n = sprintf(to, "%.15g", value), strtod(to, NULL) != value)
		n = sprintf(to, "%.17g", value);
	return to + n;
}

void output_quoted_part(struct output *o, const char *text)
{
	char shown[OUTPUT_SHOWN];
	while (*text) {
		size_t plain = o->terminal ? 0 : strcspn(text, "\"");
		output_bytes(o, text, plain);
		text += plain;
		if (*text == '"') {
			output_text(o, "\"\"");
			text++;
		} else if (*text) {
			text += output_next(text, shown);
			output_text(o, shown);
		}
	}
}

void output_quoted(struct output *o, const char *text)
{
	output_text(o, "\"");
	output_quoted_part(o, text);
	output_text(o, "\"");
}
