/* What an anonymized log may still say, and pseudonyms for the rest of a record. */
#ifndef IOLENS_ANONYMOUS_H
#define IOLENS_ANONYMOUS_H

#include "log.h"
#include "pseudonym.h"

/* Every text and UUID of a record and of its arrays' elements (hosts, pools) by its pseudonym. */
void anonymous_texts(const struct pseudonym_key *key, const struct log_record *layout, uint8_t *record);

/*
 * How many bytes of a mount point stay: directories that are called the same on many machines, as in /home and /mnt/nvme.
 * What follows, as in /home/alice, becomes pseudonyms.
 */
size_t anonymous_mount_kept(const char *point);
/* A mount point as it is to be; 0 where it does not fit. */
size_t anonymous_mount(const struct pseudonym_key *key, const char *point, char *out, size_t room);
/* The type of a file system says nothing about whose it is; one of FUSE may be any word. */
bool anonymous_keeps_type(const char *type);

/* A section that is left out as a whole: it names machines and users. */
bool anonymous_drops(const char *section);
/* A text that says nothing about who ran what: a word of a list of ours. All others become pseudonyms. */
bool anonymous_keeps_text(const char *section, const char *field);
/* What stands for a program's build id: hexadecimal, too. `room` has at least 17 bytes. */
const char *anonymous_build_id(const struct pseudonym_key *key, const char *id, char *room);
/* What Python calls code that has no name of its own, and sources that are no files: `<module>`, `<string>`. */
bool anonymous_is_pythons(const char *text, size_t n);

/*
 * A line of Python code, `function (path:line)`: `function` bytes from `begin` on, and the path from `path` up to `number`, where the
 * colon is. The first one begins with {.begin = text}; false: there are no more before the text's `end`.
 */
struct stack_line {
	const char *begin, *end;
	size_t function;
	const char *path, *number;
};
bool stack_line_next(struct stack_line *l, const char *end);

/* What stands for such lines: the numbers stay, and Python's own names. NULL: it has no room. */
const char *anonymous_stack(const struct pseudonym_key *key, const char *stack, char *out, size_t room);
/* Metadata that stays: versions, and MPI-IO hints whose values are numbers and switches. */
bool anonymous_keeps_pair(const struct log_pair *p);

#endif
