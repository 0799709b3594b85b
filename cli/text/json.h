/* Writing JSON: one value per line, commas and quoting taken care of. */
#ifndef IOLENS_JSON_H
#define IOLENS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "output.h"

enum { JSON_DEPTH = 16 };

struct json {
	FILE *out;
	int depth;
	char closer[JSON_DEPTH];
	int members[JSON_DEPTH];
};

/* name is NULL inside an array and at the top. bracket is '{' or '['. */
void json_open(struct json *j, const char *name, char bracket);
void json_close(struct json *j);
/*
 * What a command prints: an object that begins with the name and version of its JSON Schema, python/iolens/schemas/NAME.json.
 * What is added to it keeps the version.
 */
void json_document(struct json *j, const char *schema, int version);
void json_i64(struct json *j, const char *name, int64_t value);
void json_f64(struct json *j, const char *name, double value);      /* null when not finite */
void json_raw(struct json *j, const char *name, const char *value); /* as it is */
void json_bool(struct json *j, const char *name, bool value);
void json_text(struct json *j, const char *name, const char *text); /* bytes that are no UTF-8 become U+FFFD */

/* A text with its quotes, as above. */
void json_put(struct output *o, const char *text);

/* The first member of such an object, with its comma. */
#define JSON_SCHEMA(name, version) "\"schema\": {\"name\": \"" name "\", \"version\": " #version "},\n "

#endif
