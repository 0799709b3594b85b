#include <stdio.h>
#include <string.h>

#include "doctor.h"

void doctor_add_place(struct doctor *d, const char *path, int kind)
{
	for (size_t n = 0; n < d->n_places; n++)
		if (strcmp(d->places[n].path, path) == 0)
			return;
	if (!*path || d->n_places == DOCTOR_PLACES)
		return;
	struct log_place *new = &d->places[d->n_places++];
	new->kind = kind;
	snprintf(new->path, sizeof new->path, "%s", path);
}
