/*
 * The key of pseudonyms. A passphrase never stands on the command line, where other users' ps and the shell's history show
 * it, and is stretched by scrypt, for which the native command asks Python: without that, six letters are found in seconds.
 */
#ifndef IOLENS_ANONYMIZATION_KEY_H
#define IOLENS_ANONYMIZATION_KEY_H

#include "pseudonym.h"

enum { SALT_TEXT = 33 };

/*
 * Where a key comes from: NULL = a random one, which is forgotten; "key:FILE" = a random one kept in FILE, of mode 0600, which
 * is made if it is not there; "passphrase:FILE" and "env:NAME" = made of a passphrase and `*salt`. Without a salt a random one
 * is put into `made`, and *salt points to it. CLI_OK or an exit code, the reason printed.
 */
int anonymization_key(struct pseudonym_key *key, const char *source, const char **salt, char made[SALT_TEXT]);

/* What is to be said of a passphrase among the arguments; an exit code. */
int anonymization_key_refuse(void);

#endif
