/* For interfaces that are followed in another language: _iolens_torch.py finds these by name. */
#include "name.h"
#include "phase.h"

RANGES_VISIBLE uint64_t iolens_ranges_begin(const char *text);
RANGES_VISIBLE void iolens_ranges_end(uint64_t id);

uint64_t iolens_ranges_begin(const char *text)
{
	char name[RANGE_NAME];
	if (!RANGES_SEEN)
		return 0;
	range_name(name, "", text);
	return iolens_runtime_range_begin(name, NULL);
}

void iolens_ranges_end(uint64_t id)
{
	if (RANGES_SEEN)
		iolens_runtime_range_end(id);
}
