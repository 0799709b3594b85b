/*
 * What `iolens run` says comes when the command has ended: a pipe that is full and that is not read must not keep the job from its
 * end. From here on what is written to stderr waits for two seconds in all; what there is no room for is lost.
 */
#ifndef IOLENS_BOUNDED_STDERR_H
#define IOLENS_BOUNDED_STDERR_H

void bounded_stderr(void);

#endif
