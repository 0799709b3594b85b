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
/* Metadata that stays: versions, and MPI-IO hints whose values are numbers and switches. */
bool anonymous_keeps_pair(const struct log_pair *p);

#endif
