/* The kinds of tables, by name and by module. */
#include <string.h>

#include "rows.h"

static const struct table_kind *const kinds[] = {
	&kind_records, &kind_heatmap,  &kind_segments, &kind_names,   &kind_job,
	&kind_mounts,  &kind_metadata, &kind_modules,  &kind_section,
};

const struct table_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}

const struct table_kind *module_kind(int module)
{
	enum record_layout layout =
		module >= 0 && module < LOG_MOD_COUNT ? schema_modules[module].layout : LAYOUT_UNKNOWN;
	return layout == LAYOUT_HEATMAP ? &kind_heatmap : layout == LAYOUT_DXT ? &kind_segments : &kind_records;
}
