#include "site_file.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DEPTH = 4 };

static void read_level(const char *path, site_line *each, void *target, int depth);

static void include(const char *from, const char *pattern, site_line *each, void *target, int depth)
{
	char whole[2 * SITE_TEXT];
	glob_t found;
	const char *slash = strrchr(from, '/');
	snprintf(whole, sizeof whole, "%.*s%s", *pattern == '/' || !slash ? 0 : (int)(slash + 1 - from), from, pattern);
	if (depth >= DEPTH || glob(whole, 0, NULL, &found) != 0)
		return;
	for (size_t n = 0; n < found.gl_pathc; n++)
		read_level(found.gl_pathv[n], each, target, depth + 1);
	globfree(&found);
}

static void read_level(const char *path, site_line *each, void *target, int depth)
{
	char text[SITE_TEXT];
	FILE *in = fopen(path, "re");
	while (in && fgets(text, sizeof text, in)) {
		char *line = text + strspn(text, " \t");
		line[strcspn(line, "#\n")] = '\0';
		for (size_t n = strlen(line); n && isspace((unsigned char)line[n - 1]); n--)
			line[n - 1] = '\0';
		if (strncasecmp(line, "include ", 8) == 0)
			include(path, line + 8 + strspn(line + 8, " \t"), each, target, depth);
		else if (*line && !each(target, path, line))
			break;
	}
	if (in)
		fclose(in);
}

void site_file_read(const char *path, site_line *each, void *target)
{
	read_level(path, each, target, 0);
}

/* ---- a value ---- */

struct wanted {
	const char *key;
	char *value;
	bool found;
};

static bool look_for_key(void *target, const char *file, char *line)
{
	struct wanted *w = target;
	size_t n = strlen(w->key);
	char *value = line + n;
	if (strncasecmp(line, w->key, n) != 0 || !strchr("= \t", *value))
		return true;
	value += strspn(value, "= \t");
	size_t length = strlen(value);
	if (length >= 2 && (*value == '"' || *value == '\'') && value[length - 1] == *value) {
		value[length - 1] = '\0';
		value++;
	}
	snprintf(w->value, SITE_TEXT, "%s", value);
	w->found = true;
	return true;
}

bool site_file_value(const char *path, const char *key, char value[SITE_TEXT])
{
	struct wanted w = {.key = key, .value = value};
	*value = '\0';
	site_file_read(path, look_for_key, &w);
	return w.found;
}

bool site_word(const char *line, const char *key, char value[SITE_TEXT])
{
	size_t n = strlen(key);
	*value = '\0';
	for (const char *at = line; (at = strstr(at, key)); at += n)
		if (at == line || at[-1] == ' ' || at[-1] == '\t') {
			snprintf(value, SITE_TEXT, "%.*s", (int)strcspn(at + n, " \t"), at + n);
			return true;
		}
	return false;
}
