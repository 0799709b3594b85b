/* Which place writes a name that several have. */
#include "name_owners.h"

#include "unit.h"

/* Of so many places, the first with all of n names, the second with every second one, and so on; told up a chain. */
static void owners_of(struct name_owners *first, int places, uint64_t n)
{
	struct name_owners told = {0};
	for (int place = places - 1; place >= 0; place--) {
		struct name_owners own = {0};
		for (uint64_t k = n; k; k--)
			if (k % (uint64_t)(place + 1) == 0)
				EQUAL(name_owners_add(&own, k * 0x9e3779b97f4a7c15, place), 0);
		name_owners_settle(&own);
		EQUAL(name_owners_merge(&own, &told), 0);
		name_owners_free(&told);
		told = own;
	}
	*first = told;
}

static void check_owners(int places, uint64_t n)
{
	struct name_owners o;
	size_t several = 0;
	owners_of(&o, places, n);
	const struct name_owner *e = name_owners(&o);
	EQUAL(o.settled, n < NAME_OWNERS_MAX ? n : NAME_OWNERS_MAX);
	for (size_t k = 0; k < o.settled; k++) {
		uint64_t name = e[k].id * 0xf1de83e19937733d; /* the inverse of the factor above */
		int have = 0;
		for (int place = 0; place < places; place++)
			have += name % (uint64_t)(place + 1) == 0;
		CHECK(name && name <= n);
		CHECK(!k || e[k - 1].id < e[k].id);
		EQUAL(e[k].place, 0); /* which has all */
		EQUAL(e[k].several, have > 1);
		several += have > 1;
	}
	name_owners_keep_several(&o);
	EQUAL(o.settled, several);
	name_owners_free(&o);
}

TEST(the_first_place_that_has_a_name_owns_it)
{
	check_owners(1, 10);
	check_owners(5, 1000);
	check_owners(12, NAME_OWNERS_MAX);
	check_owners(3, 100000);
	struct name_owners o = {0};
	EQUAL(name_owners_add(&o, 7, 5), 0);
	EQUAL(name_owners_add(&o, 7, 2), 0);
	EQUAL(name_owners_add(&o, 7, 2), 0);
	EQUAL(name_owners_add(&o, 6, 4), 0);
	name_owners_settle(&o);
	const struct name_owner *e = name_owners(&o);
	EQUAL(o.settled, 2);
	CHECK(e[0].id == 6 && e[0].place == 4 && !e[0].several);
	CHECK(e[1].id == 7 && e[1].place == 2 && e[1].several);
	name_owners_free(&o);
}
