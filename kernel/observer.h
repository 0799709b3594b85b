/* The companion's end of the BPF programs: loads them, and keeps what they say as images. */
#ifndef IOLENS_KERNEL_OBSERVER_H
#define IOLENS_KERNEL_OBSERVER_H

#include <sys/types.h>

#include "image_store.h"

enum { OBSERVER_REASON = 256 };

struct bpf_object;
struct ring_buffer;

struct observer {
	struct bpf_object *object;
	struct ring_buffer *ring;
	int files, shared, counts; /* maps */
	struct image **images;
	size_t nimages;
	struct index numbers;                                       /* of images */
	struct observed_sums losses;                                /* of which report has been made */
	void (*began)(struct image *i, const struct image *before); /* called for each; may be NULL */
};

/* Static programs of a whole node, of users from `least_user` on (root is 0); or what the process `root` starts. */
struct observer_scope {
	pid_t root;
	uint32_t least_user;
	const char *directory; /* of its session: who makes a store there is preloaded */
};

/* False: the kernel does not allow it; `why` says it in one line. */
bool observer_start(struct observer *o, const struct observer_scope *scope, char why[OBSERVER_REASON]);

/* Waits for the kernel's events, until `ms` have passed or a signal has come, and takes them in. */
void observer_wait(struct observer *o, int ms);

/* Takes over what has been counted. An image that has ended is then complete. */
void observer_sweep(struct observer *o);

/* The command of arguments, each with a NUL (the last one maybe without): n bytes, at most OBSERVED_ARGS. */
void image_set_command(struct image *i, const char *text, size_t n);

/* From now on nothing of it is counted. */
void observer_ignore(struct observer *o, struct image *i);

/* Drops images for which `done` says so. */
void observer_drop(struct observer *o, bool (*done)(const struct image *i));

/* What has been lost since the last time; all 0 = nothing. */
struct observed_sums observer_losses(struct observer *o);

#endif
