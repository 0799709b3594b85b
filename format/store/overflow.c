#include "overflow.h"

#include <string.h>

#include "hash.h"

static void sketch_add(uint8_t *sketch, uint64_t id)
{
	uint64_t rest = id >> 10 | UINT64_C(1) << 54;
	uint8_t rank = (uint8_t)(__builtin_ctzll(rest) + 1);
	uint8_t *r = &sketch[id % OVERFLOW_REGISTERS];
	*r = rank > *r ? rank : *r;
}

static size_t directory_length(const char *path, size_t length)
{
	while (length > 1 && path[length - 1] != '/')
		length--;
	return length > 1 ? length - 1 : length;
}

/* Of a long one the end, which tells it from its neighbours. */
static void directory_text(char text[OVERFLOW_DIRECTORY_TEXT], const char *path, size_t length)
{
	size_t n = directory_length(path, length), most = OVERFLOW_DIRECTORY_TEXT - 1;
	memset(text, 0, OVERFLOW_DIRECTORY_TEXT);
	if (n <= most) {
		memcpy(text, path, n);
		return;
	}
	memcpy(text, "...", 3);
	memcpy(text + 3, path + n - (most - 3), most - 3);
}

static uint16_t *chain_of(struct overflow_index *index, const char text[OVERFLOW_DIRECTORY_TEXT])
{
	return &index->first[log_hash(text, OVERFLOW_DIRECTORY_TEXT, 0) % OVERFLOW_DIRECTORIES];
}

/* The row with the fewest opens, taken out of its chain. What is least only rises: most searches are short. */
static int64_t row_with_least(struct overflow_directory *row, struct overflow_index *index)
{
	for (int64_t passed = 0; row[index->cursor].opens > index->least; passed++) {
		index->cursor = (index->cursor + 1) % OVERFLOW_DIRECTORIES;
		if (passed < OVERFLOW_DIRECTORIES)
			continue;
		index->least = row[0].opens;
		for (int64_t i = 1; i < OVERFLOW_DIRECTORIES; i++)
			if (row[i].opens < index->least)
				index->least = row[i].opens;
		passed = 0;
	}
	uint16_t *at = chain_of(index, row[index->cursor].text);
	while (*at && *at != index->cursor + 1)
		at = &index->next[*at - 1];
	if (*at)
		*at = index->next[index->cursor];
	return index->cursor;
}

/* A new row, or one that the directory takes over; -1: there is no memory. */
static int64_t row_for(struct overflow *f, struct overflow_directory *row, struct overflow_index *index,
		       overflow_reach *reach)
{
	if ((uint64_t)f->directories >= OVERFLOW_DIRECTORIES)
		return row_with_least(row, index);
	return reach(&row[f->directories], sizeof *row) ? f->directories++ : -1;
}

static void directory_add(struct overflow *f, struct overflow_directory *row, struct overflow_index *index,
			  overflow_reach *reach, const char *path, size_t length)
{
	char text[OVERFLOW_DIRECTORY_TEXT];
	directory_text(text, path, length);
	uint16_t *chain = chain_of(index, text);
	for (uint16_t at = *chain; at; at = index->next[at - 1])
		if (memcmp(row[at - 1].text, text, sizeof text) == 0) {
			row[at - 1].opens++;
			return;
		}
	int64_t n = row_for(f, row, index, reach);
	if (n < 0)
		return;
	row[n].surplus = row[n].opens;
	row[n].opens++;
	memcpy(row[n].text, text, sizeof text);
	index->next[n] = *chain;
	*chain = (uint16_t)(n + 1);
}

void overflow_add(struct overflow *f, struct overflow_directory *row, struct overflow_index *index,
		  overflow_reach *reach, enum overflow_kind kind, const char *path, size_t length)
{
	f->files[kind].opens++;
	f->name_bytes += (int64_t)length;
	sketch_add(f->files[kind].sketch, log_hash(path, length, 0));
	directory_add(f, row, index, reach, path, length);
}

int64_t overflow_opens(const struct overflow *f)
{
	return f->files[OVERFLOW_DATA].opens + f->files[OVERFLOW_PROGRAM].opens;
}

/* Natural logarithm for x in (0, 1]: the preload library links no libm. ln x = -2 artanh((1-x)/(1+x)). */
static double logarithm(double x)
{
	double halvings = 0;
	for (; x < 0.5; x *= 2)
		halvings++;
	double z = (1 - x) / (1 + x), power = z, sum = 0;
	for (int k = 1; k < 30; k += 2, power *= z * z)
		sum += power / k;
	return -2 * sum - halvings * 0.6931471805599453;
}

/* Flajolet and others, HyperLogLog, 2007; linear counting where many registers are empty. */
int64_t overflow_files(const struct overflow_files *f)
{
	const double m = OVERFLOW_REGISTERS, alpha = 0.7213 / (1 + 1.079 / m);
	double sum = 0;
	int empty = 0;
	for (int i = 0; i < OVERFLOW_REGISTERS; i++) {
		sum += 1.0 / (double)(UINT64_C(1) << (f->sketch[i] & 63));
		empty += !f->sketch[i];
	}
	double estimate = alpha * m * m / sum;
	if (estimate <= 2.5 * m && empty)
		estimate = -m * logarithm(empty / m);
	int64_t files = (int64_t)(estimate + 0.5);
	return files < f->opens ? files : f->opens;
}
