/* What the node is, into the store of one of its processes. */
#ifndef IOLENS_SURROUNDINGS_H
#define IOLENS_SURROUNDINGS_H

/* Once in a process, before it records; it takes some tenths of a millisecond. */
void surroundings_describe(char **environment);

#endif
