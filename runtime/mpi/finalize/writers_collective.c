#include <stdlib.h>

#include "sys.h"
#include "writers.h"

enum { PIECE = 16 << 20 };

int64_t collective_rounds(const struct join *j)
{
	int64_t rounds = 0;
	for (int r = 0; r < JOIN_REGIONS; r++) {
		size_t size;
		join_region(j, (enum join_region)r, &size);
		rounds += (int64_t)((size + PIECE - 1) / PIECE);
	}
	return rounds;
}

/* What blocks comes right after: no rank enters it alone. */
static bool agree(struct tree *t, bool *good)
{
	return tree_all(t, good) && tree_all_hear(t, good);
}

static bool write_piece(struct tree *t, uint64_t at, const uint8_t *from, uint64_t n, bool *written)
{
	if (t->mpi->file_write_all(TREE_WRITE, (int64_t)at, from, (int64_t)n) != 0) {
		*written = false;
		return false;
	}
	return tree_await(t, TREE_WRITE);
}

static bool write_all(struct tree *t, int64_t rounds, const struct join *j, const uint64_t at[JOIN_REGIONS],
		      bool *written)
{
	bool good = true;
	for (int r = 0; good && r < JOIN_REGIONS; r++) {
		size_t size;
		const uint8_t *region = join_region(j, (enum join_region)r, &size);
		for (size_t done = 0; good && done < size; done += PIECE, rounds--)
			good = write_piece(t, at[r] + done, region + done, size - done < PIECE ? size - done : PIECE,
					   written);
	}
	for (; good && rounds > 0; rounds--)
		good = write_piece(t, 0, NULL, 0, written);
	return good;
}

bool collective_write(struct tree *t, const char *path, const char *hints, int64_t rounds, const struct join *j,
		      const uint64_t at[JOIN_REGIONS], bool *written)
{
	int *ranks = malloc((size_t)t->nodes * sizeof *ranks);
	bool good = ranks;
	if (!agree(t, &good) || !good)
		return false;
	for (int64_t n = 0; n < t->nodes; n++)
		ranks[n] = (int)t->leader[n];
	unsigned held = sys_hold_standard();
	bool opened = t->mpi->file_open(path, hints, ranks, (int)t->nodes) == 0;
	sys_let_standard_go(held);
	free(ranks);
	*written = opened;
	if (!agree(t, &opened))
		return false;
	if (opened && !write_all(t, rounds, j, at, written))
		return false;
	*written = *written && opened;
	if (!agree(t, written))
		return false;
	return !opened || t->mpi->file_close() == 0;
}
