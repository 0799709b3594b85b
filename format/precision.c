#include "precision.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static double to_multiple(double seconds, double unit)
{
	double scaled = seconds / unit;
	bool fits = scaled > -0x1p52 && scaled < 0x1p52;
	return fits ? (double)(int64_t)(scaled + (scaled < 0 ? -0.5 : 0.5)) * unit : seconds;
}

double precise_moment(double seconds)
{
	return to_multiple(seconds, PRECISION_UNIT);
}

double precise_duration(double seconds)
{
	enum { DROPPED = 52 - 10 };
	double rounded = to_multiple(seconds, 0x1p-32);
	uint64_t bits;
	if (!(rounded < 0x1p52 && rounded > -0x1p52))
		return seconds;
	memcpy(&bits, &rounded, sizeof bits);
	bits = (bits + (UINT64_C(1) << (DROPPED - 1))) & ~((UINT64_C(1) << DROPPED) - 1);
	memcpy(&rounded, &bits, sizeof rounded);
	return rounded;
}

double precise_share(double seconds, double *left, double *room)
{
	double wanted = seconds / PRECISION_UNIT + *left;
	double given = wanted > 0 && wanted < 0x1p52 ? (double)(int64_t)(wanted + 0.5) : 0;
	given = given < *room ? given : *room;
	*left = wanted < 0x1p52 ? wanted - given : 0;
	*room -= given;
	return given * PRECISION_UNIT;
}
