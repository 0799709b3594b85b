#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool continues(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Length of the UTF-8 sequence at `at`, 0 if it is none. */
static int sequence(const unsigned char *at)
{
	int n = *at < 0x80                  ? 1
		: *at >= 0xc2 && *at < 0xe0 ? 2
		: *at >= 0xe0 && *at < 0xf0 ? 3
		: *at >= 0xf0 && *at < 0xf5 ? 4
					    : 0;
	for (int i = 1; i < n; i++)
		if (!continues(at[i]))
			return 0;
	return n;
}

/* What stands for the next character in quotes; returns how many bytes it took. */
static int quote_next(const unsigned char *at, char out[8])
{
	int n = sequence(at);
	if (!n)
		strcpy(out, "\\ufffd");
	else if (*at == '"' || *at == '\\')
		snprintf(out, 8, "\\%c", *at);
	else if (*at < 0x20 || *at == 0x7f)
		snprintf(out, 8, "\\u%04x", *at);
	else
		snprintf(out, 8, "%.*s", n, (const char *)at);
	return n ? n : 1;
}

void json_quote(FILE *out, const char *text)
{
	char piece[8];
	fputc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		at += quote_next(at, piece);
		fputs(piece, out);
	}
	fputc('"', out);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void json_put(struct output *o, const char *text)
{
	char piece[8];
	output_bytes(o, "\"", 1);
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t n = 0;
		while (is_plain(at[n]))
			n++;
		output_bytes(o, (const char *)at, n);
		at += n;
		if (!*at)
			break;
		at += quote_next(at, piece);
		output_text(o, piece);
	}
	output_bytes(o, "\"", 1);
}

static void begin(struct json *j, const char *name)
{
	if (j->depth) {
		fputs(j->members[j->depth]++ ? ",\n" : "\n", j->out);
		fprintf(j->out, "%*s", 2 * j->depth, "");
	}
	if (name) {
		json_quote(j->out, name);
		fputs(": ", j->out);
	}
}

void json_open(struct json *j, const char *name, char bracket)
{
	begin(j, name);
	fputc(bracket, j->out);
	j->depth++;
	j->members[j->depth] = 0;
	j->closer[j->depth] = bracket == '{' ? '}' : ']';
}

void json_close(struct json *j)
{
	char closer = j->closer[j->depth];
	bool empty = !j->members[j->depth--];
	if (!empty)
		fprintf(j->out, "\n%*s", 2 * j->depth, "");
	fputc(closer, j->out);
	if (!j->depth)
		fputc('\n', j->out);
}

void json_i64(struct json *j, const char *name, int64_t value)
{
	begin(j, name);
	fprintf(j->out, "%" PRId64, value);
}

void json_f64(struct json *j, const char *name, double value)
{
	begin(j, name);
	if (isfinite(value))
		fprintf(j->out, "%.9g", value);
	else
		fputs("null", j->out);
}

void json_raw(struct json *j, const char *name, const char *value)
{
	begin(j, name);
	fputs(value, j->out);
}

void json_bool(struct json *j, const char *name, bool value)
{
	json_raw(j, name, value ? "true" : "false");
}

void json_text(struct json *j, const char *name, const char *text)
{
	begin(j, name);
	json_quote(j->out, text);
}
