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

static const double process_unit = 0x1p-17;

double precise_begin(double seconds)
{
	double near = to_multiple(seconds, process_unit);
	return near > seconds ? near - process_unit : near;
}

double precise_end(double seconds)
{
	double near = to_multiple(seconds, process_unit);
	return near < seconds ? near + process_unit : near;
}

double precise_time(double seconds, enum precision kept)
{
	double unit = kept == PRECISION_DURATION ? 0x1p-20 : 0x1p-19;
	while (kept != PRECISION_POINT && unit > 0x1p-24 && seconds < 8 * unit)
		unit /= 2;
	double rounded = to_multiple(seconds, unit);
	return rounded == 0 && seconds > 0 ? unit : rounded;
}

/* The `kept` topmost bits below the leading one; what is no time stays. */
static double to_bits(double number, int kept)
{
	uint64_t bits, half = UINT64_C(1) << (51 - kept);
	if (!(number > -0x1p52 && number < 0x1p52))
		return number;
	memcpy(&bits, &number, sizeof bits);
	bits = (bits + half) & ~(2 * half - 1);
	memcpy(&number, &bits, sizeof bits);
	return number;
}

double precise_variance(double variance)
{
	return to_bits(variance, 12);
}

double precise_duration(double seconds)
{
	return to_bits(to_multiple(seconds, 0x1p-32), 10);
}

double precise_cost(double seconds)
{
	return to_bits(to_multiple(seconds, PRECISION_UNIT), 5);
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
