/* Random numbers that a seed decides, the same on every machine. */
#ifndef FLEETGEN_DICE_H
#define FLEETGEN_DICE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct dice {
	uint64_t state;
};

static inline uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* The numbers of `number` are independent of those of any other number. */
static inline struct dice dice_of(uint64_t seed, uint64_t number)
{
	return (struct dice){mix(mix(seed + 1) ^ number * 0x9e3779b97f4a7c15)};
}

static inline uint64_t roll(struct dice *d)
{
	d->state += 0x9e3779b97f4a7c15;
	return mix(d->state);
}

/* 0 <= roll_unit < 1 */
static inline double roll_unit(struct dice *d)
{
	return (double)(roll(d) >> 11) * 0x1p-53;
}

/* 0 <= roll_below < n */
static inline int64_t roll_below(struct dice *d, int64_t n)
{
	return (int64_t)(roll_unit(d) * (double)n);
}

static inline bool roll_chance(struct dice *d, double probability)
{
	return roll_unit(d) < probability;
}

/* Mean 1. */
static inline double roll_exponential(struct dice *d)
{
	return -log(1 - roll_unit(d));
}

static inline double roll_normal(struct dice *d)
{
	double radius = sqrt(2 * roll_exponential(d));
	return radius * cos(6.283185307179586 * roll_unit(d));
}

/* Half of them below the median; `spread` = standard deviation of the logarithm. */
static inline double roll_lognormal(struct dice *d, double median, double spread)
{
	return median * exp(spread * roll_normal(d));
}

#endif
