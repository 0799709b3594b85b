/* libFuzzer target: everything that a log reader does, on any bytes. */
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_log(data, size);
	return 0;
}
