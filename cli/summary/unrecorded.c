#include "unrecorded.h"

#include <stdio.h>
#include <string.h>

#include "shown.h"

/* As python/iolens/metrics/sql/unrecorded.sql has it: a test holds them together. */
void unrecorded_describe(const struct digest_unrecorded *u, char text[UNRECORDED_TEXT])
{
	char program[300], interface[sizeof u->interface * 4];
	shown_copy(program, sizeof program, u->program);
	shown_copy(interface, sizeof interface, u->interface);
	if (strcmp(u->reason, "no_backend") == 0)
		snprintf(text, UNRECORDED_TEXT,
			 "MPI-IO of %s is not recorded: iolens has no back end for its MPI (see iolens doctor %s)",
			 program, program);
	else if (strcmp(u->reason, "no_lines") == 0)
		snprintf(text, UNRECORDED_TEXT,
			 "Lines of %s in %s are not recorded: this version of iolens cannot read them", interface,
			 program);
	else
		snprintf(text, UNRECORDED_TEXT,
			 "%s is linked into %s: its calls are not recorded; relink with the shared library%s",
			 interface, program, strcmp(u->interface, "HDF5") == 0 ? " (h5cc -shlib)" : "");
}

/* Each once: ranks have rows of their own. */
void unrecorded_read(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	(void)trailer;
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		struct digest_unrecorded u = {.interface = ""};
		size_t n = 0;
		trailer_copy_text(t, row, "interface", u.interface, sizeof u.interface);
		trailer_copy_text(t, row, "program", u.program, sizeof u.program);
		trailer_copy_text(t, row, "reason", u.reason, sizeof u.reason);
		while (n < d->nunrecorded && memcmp(&d->unrecorded[n], &u, sizeof u) != 0)
			n++;
		if (n < DIGEST_UNRECORDED && n == d->nunrecorded)
			d->unrecorded[d->nunrecorded++] = u;
	}
}

void unrecorded_json(struct json *j, const struct digest *d)
{
	if (!d->nunrecorded)
		return;
	json_open(j, "unrecorded", '[');
	for (size_t n = 0; n < d->nunrecorded; n++) {
		json_open(j, NULL, '{');
		json_text(j, "interface", d->unrecorded[n].interface);
		json_text(j, "program", d->unrecorded[n].program);
		json_text(j, "reason", d->unrecorded[n].reason);
		json_close(j);
	}
	json_close(j);
}
