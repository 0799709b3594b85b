/*
 * A look as bytes, for `iolens top` of another node, which asks for it by ssh or srun. Both ends must be the same build: the
 * stores are sent as they are in memory, and what the head says of them must be what the reader would say.
 */
#ifndef IOLENS_LIVE_FRAME_H
#define IOLENS_LIVE_FRAME_H

#include "live_look.h"
#include "output.h"

/* Of names those after the first `told`, which is then all. */
void live_frame_put(struct output *out, const struct live_look *l, const struct live_names *names, size_t *told);

/*
 * Bytes of the first frame among n, and where it begins: what came before it (greetings of a shell) is none. 0 = not yet whole.
 * Negative: of another build, or larger than any.
 */
int64_t live_frame_whole(const void *bytes, size_t n, size_t *begins, struct log_error *err);

/* Adds what one whole frame has, as of that node; of the look `unreadable` alone is changed beside its stores. */
int live_frame_read(struct live_look *l, struct live_names *names, const char *node, const void *bytes, size_t n,
		    struct log_error *err);

#endif
