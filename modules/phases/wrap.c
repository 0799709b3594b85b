/* What programs call: iolens_phase.h finds these by name. */
#include "record.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void iolens_runtime_phase_begin(const char *name);
EXPORTED void iolens_runtime_phase_end(const char *name);

void iolens_runtime_phase_begin(const char *name)
{
	phase_begin(name);
}

void iolens_runtime_phase_end(const char *name)
{
	phase_end(name);
}
