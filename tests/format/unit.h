/* Unit tests: a function each, found through a linker section. `units NAME` runs one, `units` runs all. */
#ifndef IOLENS_UNIT_H
#define IOLENS_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unit {
	const char *name;
	void (*run)(void);
};

#define TEST(test)                                                                                             \
	static void test_##test(void);                                                                         \
	static const struct unit unit_##test = {#test, test_##test};                                           \
	static const struct unit *const unit_at_##test __attribute__((used, section("units"))) = &unit_##test; \
	static void test_##test(void)

void unit_check(bool ok, const char *what, const char *file, int line);
void unit_equal(int64_t got, int64_t wanted, const char *what, const char *file, int line);
void unit_near(double got, double wanted, const char *what, const char *file, int line);
void unit_text(const char *got, const char *wanted, const char *what, const char *file, int line);

#define CHECK(ok)          unit_check(ok, #ok, __FILE__, __LINE__)
#define EQUAL(got, wanted) unit_equal((int64_t)(got), (int64_t)(wanted), #got, __FILE__, __LINE__)
#define NEAR(got, wanted)  unit_near(got, wanted, #got, __FILE__, __LINE__)
#define TEXT(got, wanted)  unit_text(got, wanted, #got, __FILE__, __LINE__)

/* Deterministic random numbers. */
uint64_t unit_random(uint64_t *state);

/* A fresh directory below the system's temporary one, removed by unit_remove with the files in it. */
char *unit_directory(void);
void unit_remove(char *directory);

#endif
