#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

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

void json_quote(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		int n = sequence(at);
		if (!n)
			fputs("\\ufffd", out);
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			fprintf(out, "\\u%04x", *at);
		else
			fwrite(at, 1, (size_t)n, out);
		at += n ? n : 1;
	}
	fputc('"', out);
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
