/* libFuzzer target: a layout of Lustre as the kernel hands it out; what is read of it fits the record that its size was asked for. */
#include <stdlib.h>

#include "layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lustre_layout l;
	if (lustre_layout_read(data, size, &l) < 0)
		return 0;
	size_t n = lustre_layout_size(&l);
	if (n > LUSTRE_RECORD_MOST)
		abort();
	struct lustre_record *r = calloc(1, n);
	lustre_layout_store(data, size, &l, r);
	const struct lustre_component *c = (const struct lustre_component *)(r + 1);
	int64_t stripes = 0;
	for (int64_t k = 0; k < l.components; k++) {
		stripes += c[k].stripe_count;
		if (c[k].stripe_size <= 0 || c[k].stripe_count < 0)
			abort();
	}
	if (stripes != l.stripes || r->num_stripes != stripes || r->num_components != l.components)
		abort();
	free(r);
	return 0;
}
