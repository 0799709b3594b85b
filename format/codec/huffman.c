#include "huffman.h"

#include <stdbool.h>
#include <string.h>

struct leaf {
	uint32_t count;
	int symbol;
};

static bool is_before(const struct leaf *a, const struct leaf *b)
{
	return a->count != b->count ? a->count < b->count : a->symbol < b->symbol;
}

/* Steps of Shell's sort. */
static const int steps[] = {132, 57, 23, 10, 4, 1};

static void sort(struct leaf *leaf, int n)
{
	for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
		for (int i = steps[k]; i < n; i++) {
			struct leaf one = leaf[i];
			int at = i;
			for (; at >= steps[k] && is_before(&one, &leaf[at - steps[k]]); at -= steps[k])
				leaf[at] = leaf[at - steps[k]];
			leaf[at] = one;
		}
}

static int collect(struct leaf *leaf, const uint32_t *count, int symbols)
{
	int n = 0;
	for (int s = 0; s < symbols; s++)
		if (count[s])
			leaf[n++] = (struct leaf){count[s], s};
	for (int s = 0; n < 2; s++)
		if (!count[s])
			leaf[n++] = (struct leaf){1, s};
	sort(leaf, n);
	return n;
}

/* Depth of every leaf, the rarest first; Huffman's tree by two queues: leaves, and the nodes made of them. */
static void measure(const struct leaf *leaf, int n, uint8_t *depth)
{
	uint64_t weight[HUFFMAN_SYMBOLS];
	int parent[2 * HUFFMAN_SYMBOLS], level[HUFFMAN_SYMBOLS];
	int next_leaf = 0, next_node = 0;
	for (int made = 0; made < n - 1; made++) {
		weight[made] = 0;
		for (int k = 0; k < 2; k++) {
			bool node = next_leaf == n || (next_node < made && weight[next_node] < leaf[next_leaf].count);
			weight[made] += node ? weight[next_node] : leaf[next_leaf].count;
			parent[node ? n + next_node++ : next_leaf++] = made;
		}
	}
	level[n - 2] = 0;
	for (int node = n - 3; node >= 0; node--)
		level[node] = level[parent[n + node]] + 1;
	for (int l = 0; l < n; l++)
		depth[l] = (uint8_t)(level[parent[l]] + 1 < 255 ? level[parent[l]] + 1 : 255);
}

/* Cuts what is too deep, and pays for it with the deepest of the others. */
static void limit(uint8_t *depth, int n, int longest)
{
	int64_t spent = 0, all = INT64_C(1) << longest;
	for (int l = 0; l < n; l++) {
		depth[l] = depth[l] > longest ? (uint8_t)longest : depth[l];
		spent += all >> depth[l];
	}
	for (int l = 0; spent > all; l = l + 1 < n ? l + 1 : 0) {
		if (depth[l] == longest)
			continue;
		depth[l]++;
		spent -= all >> depth[l];
	}
	for (int l = n - 1; l >= 0; l--)
		while (depth[l] > 1 && spent + (all >> depth[l]) <= all) {
			spent += all >> depth[l];
			depth[l]--;
		}
}

uint16_t huffman_turned(uint32_t code, int length)
{
	code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
	code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
	code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
	code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
	return (uint16_t)(code >> (16 - length));
}

void huffman_assign(struct huffman_code *c, int symbols)
{
	uint32_t next[HUFFMAN_LONGEST + 2] = {0}, code = 0;
	uint32_t used[HUFFMAN_LONGEST + 1] = {0};
	for (int s = 0; s < symbols; s++)
		used[c->length[s]]++;
	used[0] = 0;
	for (int n = 1; n <= HUFFMAN_LONGEST; n++)
		next[n] = code = (code + used[n - 1]) << 1;
	for (int s = 0; s < symbols; s++)
		c->bits[s] = c->length[s] ? huffman_turned(next[c->length[s]]++, c->length[s]) : 0;
}

void huffman_make(struct huffman_code *c, const uint32_t *count, int symbols, int longest)
{
	struct leaf leaf[HUFFMAN_SYMBOLS];
	uint8_t depth[HUFFMAN_SYMBOLS];
	int n = collect(leaf, count, symbols);
	measure(leaf, n, depth);
	limit(depth, n, longest);
	memset(c->length, 0, sizeof c->length);
	for (int l = 0; l < n; l++)
		c->length[leaf[l].symbol] = depth[l];
	huffman_assign(c, symbols);
}
