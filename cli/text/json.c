#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* What stands for the next character in quotes; returns how many bytes it took. */
static size_t quote_next(const char *at, char out[8])
{
	uint32_t character;
	size_t n = output_decode(at, &character);
	if (!n)
		strcpy(out, "\\ufffd");
	else if (*at == '"' || *at == '\\')
		snprintf(out, 8, "\\%c", *at);
	else if (output_hides(character))
		snprintf(out, 8, "\\u%04x", character);
	else
		snprintf(out, 8, "%.*s", (int)n, at);
	return n ? n : 1;
}

static void json_quote(FILE *out, const char *text)
{
	char piece[8];
	fputc('"', out);
	for (const char *at = text; *at;) {
		at += quote_next(at, piece);
		fputs(piece, out);
	}
	fputc('"', out);
}

static bool is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void json_put(struct output *o, const char *text)
{
	char piece[8];
	output_bytes(o, "\"", 1);
	for (const char *at = text; *at;) {
		size_t n = 0;
		while (is_plain(at[n]))
			n++;
		output_bytes(o, at, n);
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

void json_document(struct json *j, const char *schema, int version)
{
	json_open(j, NULL, '{');
	json_open(j, "schema", '{');
	json_text(j, "name", schema);
	json_i64(j, "version", version);
	json_close(j);
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
