/* A library goes: pointers into those that wrappers were bound to are kept. */
#include "wrap.h"

WRAP(int, dlclose, void *handle)
{
	resolve_unloading();
	int result = REAL(dlclose)(handle);
	resolve_unloaded();
	return result;
}
