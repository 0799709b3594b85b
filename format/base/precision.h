/*
 * As exact as the trailer keeps times: the rest is noise of clocks and schedulers, which takes most of a log's room. Two
 * clock readings differ by tens of nanoseconds for no reason, and starting a process takes hundreds of microseconds.
 */
#ifndef IOLENS_PRECISION_H
#define IOLENS_PRECISION_H

/* A point in time of the trailer, to multiples of 2^-20 s. */
#define PRECISION_UNIT 0x1p-20
double precise_moment(double seconds);

/*
 * When something of a process begins or ends, to multiples of 2^-17 s, 8 us: starting and ending one varies by more. Never
 * later, or earlier, than it was, so that what happened in between stays there.
 */
double precise_begin(double seconds);
double precise_end(double seconds);

/* What starting a process cost us, to six significant bits and multiples of 2^-20 s. */
double precise_cost(double seconds);

/*
 * The times of Darshan's records. What is not zero stays so, because zero is "never". Points in time and the times of a
 * whole rank are multiples of 2^-19 s, durations of 2^-20 s. Durations and times of ranks keep four significant bits where
 * that is finer, down to 2^-24 s: about as much as it takes to read the clock twice.
 */
enum precision { PRECISION_POINT, PRECISION_DURATION, PRECISION_RANK };
double precise_time(double seconds, enum precision kept);

/* A variance of times, to 13 significant bits. */
double precise_variance(double variance);

/* A duration, to 11 significant bits (0.05 %) and multiples of 2^-32 s. */
double precise_duration(double seconds);

/*
 * Durations within stretches of `room` units of 2^-20 s each, as such units: what one of them is rounded by is kept in *left for
 * the next, so that their sum is right. Takes from *room, and nothing that is not there.
 */
double precise_share(double seconds, double *left, double *room);

#endif
