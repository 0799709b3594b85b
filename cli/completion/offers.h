/* What can be typed after each command: its options as its own usage tells them, and the scripts made of them. */
#ifndef IOLENS_OFFERS_H
#define IOLENS_OFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct offer {
	const char *command;
	char letter; /* 0 = none */
	char name[32];
	char value[48];  /* what it takes: FILE; "" = nothing */
	bool optional;   /* --name or --name=value */
	char words[512]; /* that the value may be, a blank between them; "" = a file or anything */
	char about[256];
};

enum { OFFERS_MOST = 512 };

struct command;

struct offers {
	const struct command *const *commands;
	size_t ncommands;
	size_t n;
	struct offer offer[OFFERS_MOST];
};

/* The options of all native commands. */
void offers_add_native(struct offers *o);

/* One line "command\tname\tletter\tvalue\tabout" of the commands in Python; those that are none are left out. */
void offers_add_line(struct offers *o, char *line);

struct shell {
	const char *name;
	void (*write)(FILE *out, const struct offers *o);
};

extern const struct shell shells[];

enum { SHELLS = 3 };

#endif
