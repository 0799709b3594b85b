/* The options of a command as a table, one row each: read from the command line, and told by --help. */
#ifndef IOLENS_CHOICES_H
#define IOLENS_CHOICES_H

#include <stdbool.h>
#include <stddef.h>

struct choice {
	const char *name;  /* --name; may be shortened at will */
	const char *value; /* what it takes, in help: "DIR", "read|write"; NULL = nothing */
	/* Puts text (NULL where nothing is given) into target. False: it is not what is expected. */
	bool (*set)(void *target, const struct choice *c, char *text);
	const char *about;
	size_t at;                                          /* in target */
	unsigned bits;                                      /* for sets of flags */
	char letter;                                        /* -o; 0 = none */
	bool optional;                                      /* the value may be left out: --name or --name=value */
	const char *expect;                                 /* in the complaint; NULL = value */
	const char *(*word)(const void *context, size_t i); /* names that it may have, until NULL; NULL = any */
};

struct choices {
	const char *command; /* show */
	bool runs_command;   /* the first argument that is no option is a command, and what follows is its own */
	const char *before;  /* help up to the options, without "usage: iolens " */
	const char *after;   /* and what follows them; NULL = nothing */
	const struct choice *table;
	size_t n;
	int least, most;       /* arguments that are no options; most 0 = any number */
	const char *arguments; /* "bash|zsh": what they may be; NULL = files */
	const char *wanted;    /* where there are fewer or more: "give one log" */
};

/* Returns the place of the first argument that is no option in argv (which is sorted), or -1 with *code set. */
int choices_parse(const struct choices *c, int argc, char **argv, void *target, int *code);

/* Are the parts of "read|write" words to choose from? What stands for something, as FILE, is in capitals. */
bool choice_has_words(const char *value);

/* For rows: the bool, or the const char *, at c->at. */
bool choice_flag(void *target, const struct choice *c, char *text);
bool choice_text(void *target, const struct choice *c, char *text);
bool choice_file(void *target, const struct choice *c, char *text); /* not "-", which would be a file of that name */

/* For rows: the int64_t at c->at: a scheduler's job as it prints it: 4711, 4711[3].server, Flux's base 58. */
bool choice_job(void *target, const struct choice *c, char *text);

#endif
