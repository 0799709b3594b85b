/*
 * Variables that every process writes as it starts lie together: each further page is one more for the kernel to make.
 *
 *	static int rings AT_START;
 */
#ifndef IOLENS_AT_START_H
#define IOLENS_AT_START_H

#define AT_START __attribute__((section("iolens_start")))

#endif
