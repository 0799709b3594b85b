#include "checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "shown.h"
#include "units.h"

static const char *const results[CHECK_RESULTS] = {"ok", "note", "problem"};

void checks_add(struct checks *c, enum check_result result, const char *name, const char *format, ...)
{
	va_list list;
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 32;
		struct check *larger = realloc(c->list, room * sizeof *larger);
		if (!larger)
			return;
		c->list = larger;
		c->room = room;
	}
	struct check *new = &c->list[c->n++];
	*new = (struct check){.about = c->about, .name = name, .result = result};
	c->of[result]++;
	va_start(list, format);
	vsnprintf(new->text, sizeof new->text, format, list);
	va_end(list);
}

static void print_lines(const struct checks *c)
{
	const char *about = "";
	for (size_t n = 0; n < c->n; n++) {
		const struct check *one = &c->list[n];
		if (strcmp(about, one->about) != 0)
			printf("%s%s\n", n ? "\n" : "", about = one->about);
		shown_line(stdout, "  %-8s %-16s %s", results[one->result], one->name, one->text);
	}
	printf("\n%s\n", COUNTED(c->of[CHECK_PROBLEM], "problem"));
}

static void print_json(const struct checks *c)
{
	struct json j = {.out = stdout};
	json_document(&j, "doctor", 1);
	json_i64(&j, "problems", (int64_t)c->of[CHECK_PROBLEM]);
	json_open(&j, "checks", '[');
	for (size_t n = 0; n < c->n; n++) {
		json_open(&j, NULL, '{');
		json_text(&j, "about", c->list[n].about);
		json_text(&j, "name", c->list[n].name);
		json_text(&j, "result", results[c->list[n].result]);
		json_text(&j, "text", c->list[n].text);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
}

void checks_print(const struct checks *c, bool json)
{
	if (json)
		print_json(c);
	else
		print_lines(c);
}

void checks_free(struct checks *c)
{
	free(c->list);
	*c = (struct checks){0};
}
