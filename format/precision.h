/*
 * As exact as the trailer keeps times: the rest is noise of clocks and schedulers, which takes most of a log's room. Two
 * clock readings differ by tens of nanoseconds for no reason, and starting a process takes hundreds of microseconds.
 */
#ifndef IOLENS_PRECISION_H
#define IOLENS_PRECISION_H

/* A point in time, to multiples of 2^-20 s. */
#define PRECISION_UNIT 0x1p-20
double precise_moment(double seconds);

/* A duration, to 11 significant bits (0.05 %) and multiples of 2^-32 s. */
double precise_duration(double seconds);

/*
 * Durations within stretches of `room` units of 2^-20 s each, as such units: what one of them is rounded by is kept in *left for
 * the next, so that their sum is right. Takes from *room, and nothing that is not there.
 */
double precise_share(double seconds, double *left, double *room);

#endif
