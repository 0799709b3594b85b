/*
 * Checkpoints of training loops, without a change of the program: what a loop's thread writes between two waits for its loader is
 * the phase `loader: checkpoint` (docs/decisions/0053-loaders.md).
 */
#ifndef IOLENS_CHECKPOINT_H
#define IOLENS_CHECKPOINT_H

struct stack;

/* The lock is held. */

/* A wait has ended: unless it is within another one, a checkpoint may begin. */
void checkpoint_look(struct stack *s);

/* The thread waits again, or begins or ends another phase. */
void checkpoint_end(struct stack *s);

#endif
