#include "offers.h"

#include <string.h>

#include "choices.h"
#include "cli.h"

static struct offer *next(struct offers *o, const char *command)
{
	if (o->n == OFFERS_MOST)
		return NULL;
	struct offer *f = &o->offer[o->n++];
	*f = (struct offer){.command = command};
	return f;
}

/* "read|write" -> "read write" */
static void split_words(struct offer *f)
{
	if (!choice_has_words(f->value))
		return;
	snprintf(f->words, sizeof f->words, "%s", f->value);
	for (char *c = f->words; (c = strchr(c, '|'));)
		*c = ' ';
}

static void fill(struct offer *f, const struct choice *row)
{
	f->letter = row->letter;
	f->optional = row->optional;
	snprintf(f->name, sizeof f->name, "%s", row->name);
	snprintf(f->value, sizeof f->value, "%s", row->value ? row->value : "");
	snprintf(f->about, sizeof f->about, "%s", row->about);
	for (char *c = f->about; (c = strchr(c, '\n'));)
		*c = ' ';
	split_words(f);
	const char *word;
	size_t used = 0;
	for (size_t i = 0; used < sizeof f->words && row->word && (word = row->word(row, i)); i++)
		used += (size_t)snprintf(f->words + used, sizeof f->words - used, "%s%s", used ? " " : "", word);
	if (used >= sizeof f->words) /* too many to choose from */
		f->words[0] = '\0';
}

static void add_help(struct offers *o, const char *command)
{
	static const struct choice help = {"help", .letter = 'h', .about = "what it does, and its options"};
	struct offer *f = next(o, command);
	if (f)
		fill(f, &help);
}

void offers_add_native(struct offers *o)
{
	struct offer *f;
	for (size_t i = 0; i < o->ncommands; i++) {
		const struct command *command = o->commands[i];
		for (size_t k = 0; command->choices && k < command->choices->n; k++)
			if ((f = next(o, command->name)))
				fill(f, &command->choices->table[k]);
		if (command->choices)
			add_help(o, command->name);
	}
}

void offers_add_line(struct offers *o, char *line)
{
	char *field[5];
	size_t i = 0;
	for (int n = 0; n < 5; n++)
		if (!(field[n] = strsep(&line, "\t\n")))
			return;
	while (i < o->ncommands && (o->commands[i]->choices || strcmp(o->commands[i]->name, field[0])))
		i++;
	struct offer *f = i < o->ncommands ? next(o, o->commands[i]->name) : NULL;
	if (!f)
		return;
	f->letter = *field[2];
	snprintf(f->name, sizeof f->name, "%s", field[1]);
	snprintf(f->value, sizeof f->value, "%s", field[3]);
	snprintf(f->about, sizeof f->about, "%s", field[4]);
	split_words(f);
}
