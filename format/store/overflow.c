#include "overflow.h"

#include <string.h>

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

/* The directory's entry, or the one with the fewest opens, which it then takes over. */
static void directory_add(struct overflow_directory *list, const char *path, size_t length)
{
	struct overflow_directory *least = list;
	size_t n = directory_length(path, length);
	n = n < OVERFLOW_DIRECTORY_TEXT ? n : OVERFLOW_DIRECTORY_TEXT - 1;
	for (struct overflow_directory *d = list; d < list + OVERFLOW_DIRECTORIES; d++) {
		if (d->opens && strncmp(d->text, path, n) == 0 && d->text[n] == '\0') {
			d->opens++;
			return;
		}
		if (d->opens < least->opens)
			least = d;
	}
	least->surplus = least->opens;
	least->opens++;
	memcpy(least->text, path, n);
	least->text[n] = '\0';
}

void overflow_add(struct overflow *f, uint64_t id, const char *path, size_t length)
{
	f->opens++;
	f->name_bytes += (int64_t)length;
	sketch_add(f->sketch, id);
	directory_add(f->directory, path, length);
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
int64_t overflow_files(const struct overflow *f)
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
