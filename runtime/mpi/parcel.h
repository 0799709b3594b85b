/* A store as one piece of memory that can be sent: the parts of the file that hold data, compressed. */
#ifndef IOLENS_MPI_PARCEL_H
#define IOLENS_MPI_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parcel {
	uint8_t *at; /* from malloc */
	size_t size; /* bytes to send; 0 = could not be packed */
	size_t raw;  /* bytes when unpacked */
};

struct parcel parcel_pack(const char *store);

/* Makes the store again under another name, which must be free. */
bool parcel_unpack(const struct parcel *p, const char *store);

#endif
