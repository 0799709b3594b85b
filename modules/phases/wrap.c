/* What programs call: iolens_phase.h finds these by name, as ranges/ finds those for ranges. */
#include "record.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void iolens_runtime_phase_begin(const char *name);
EXPORTED void iolens_runtime_phase_end(const char *name);
EXPORTED void iolens_runtime_phase_end_as(const char *name);
EXPORTED uint64_t iolens_runtime_range_begin(const char *name, const void *of);
EXPORTED void iolens_runtime_range_end(uint64_t id);
EXPORTED void iolens_runtime_range_end_last(const void *of);

void iolens_runtime_phase_begin(const char *name)
{
	phase_begin(name);
}

void iolens_runtime_phase_end(const char *name)
{
	phase_end(name);
}

void iolens_runtime_phase_end_as(const char *name)
{
	phase_end_as(name);
}

uint64_t iolens_runtime_range_begin(const char *name, const void *of)
{
	return phase_range_begin(name, of);
}

void iolens_runtime_range_end(uint64_t id)
{
	phase_range_end(id);
}

void iolens_runtime_range_end_last(const void *of)
{
	phase_range_end_last(of);
}
