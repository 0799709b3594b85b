/*
 * The store's file and where it is mapped. The file is sparse and has its whole size from the start; address space, of which a
 * process may have little, is taken piece by piece, as a region grows.
 */
#ifndef IOLENS_STORE_FILE_H
#define IOLENS_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store_header.h"

enum { STORE_PAGE = 4096, STORE_PIECES = 36, STORE_OVERLAP = 20 * STORE_PAGE };

/*
 * Pieces overlap: what begins in one and has at most STORE_OVERLAP bytes lies in it as a whole. A region of one piece is
 * never cut.
 */
struct store_region {
	uint64_t offset; /* in the file */
	size_t capacity;
	size_t piece_size;
	size_t used;
	size_t touched; /* pages below are known to exist */
	bool late;      /* of its first piece a page is mapped, which is enough to have the rest when it is wanted */
	bool rare;      /* not even that, but of the first such region */
	char *first_page;
	int pieces;
	char *piece[STORE_PIECES];
};

static inline size_t store_pages(size_t n)
{
	return (n + STORE_PAGE - 1) & ~(size_t)(STORE_PAGE - 1);
}

/* Gives a region its place in the file, of whole pages, and cuts it into pieces, which keep their addresses if they have some. */
void store_region_place(struct store_region *r, const struct placed *at, size_t piece_size);

/* To write beyond the process's limit is answered with a signal, which would be its end. */
bool store_file_may_reach(uint64_t end);

/* Makes the file `path` in its open directory, of `size` bytes; its descriptor, or -1, also where there is no room for one more. */
int store_file_create(int dir, const char *path, size_t size);

/*
 * Makes the file `path` in its open directory, or takes the one that was laid down there, and maps the first piece of each region
 * that is not late; pieces that are mapped already become this file's. What path points to is kept: the caller changes it when
 * the file moves.
 */
bool store_file_make(int dir, const char *path, size_t size, bool laid_down, struct store_region *const *regions,
		     int n);

/* Where `at` is; NULL when it is beyond what could be mapped. */
char *store_region_at(struct store_region *r, size_t at);

/* True when the pages until `end` exist, so that writing them cannot end the process. */
bool store_region_reach(struct store_region *r, size_t end);

/* The same of pages somewhere in the region, which nothing else touches; once. */
bool store_region_touch(struct store_region *r, size_t from, size_t end);

/* Shows the region's first n bytes at `to`, where memory is mapped that may be replaced. */
bool store_region_show(const struct store_region *r, char *to, size_t n);

#endif
