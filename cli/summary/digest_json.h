/* A digest as JSON: the numbers of the summary and of `iolens files`. */
#ifndef IOLENS_DIGEST_JSON_H
#define IOLENS_DIGEST_JSON_H

#include "digest.h"
#include "json.h"
#include "sites.h"

void digest_json(struct json *j, const struct digest *d, const char *log);
void digest_json_file(struct json *j, const struct digest_file *f, const struct sites *sites);

#endif
