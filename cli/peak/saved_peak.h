/* A measurement of `iolens peak` with what it is of, as it is printed, kept and found again. */
#ifndef IOLENS_SAVED_PEAK_H
#define IOLENS_SAVED_PEAK_H

#include <limits.h>
#include <stdbool.h>

#include "json.h"
#include "measure.h"

struct saved_peak {
	char directory[PATH_MAX], point[PATH_MAX]; /* and its mount point */
	char host[256], type[64], time[32];        /* ISO 8601, UTC */
	char class[16];                            /* lustre, nfs, local, ...; "" = not known */
	double write_rate, read_rate;              /* bytes/s; 0 = not known */
};

/* Where and when this is; "" for what the system does not say. */
void saved_peak_describe(struct saved_peak *p, const char *directory);

/* `given`, or a file below the user's cache for this mount point; false: there is no place. Folders are made. */
bool saved_peak_path(const char *given, const char *point, char path[PATH_MAX]);

void saved_peak_write(struct json *j, const struct saved_peak *p, const struct measurement *m);

/* What was kept for a mount point, its point, host, type, time and rates; false: nothing. */
bool saved_peak_read(struct saved_peak *p, const char *point);

#endif
