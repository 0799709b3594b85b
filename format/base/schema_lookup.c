/* Finding fields of the schema. */
#include <string.h>
#include "schema.h"

const struct schema_field *schema_by_role(const struct schema_module *m, enum field_role role)
{
	return m->roles && m->roles[role] >= 0 ? &m->fields[m->roles[role]] : NULL;
}

const struct schema_field *schema_next(const struct schema_module *m, const struct schema_field *f)
{
	return f->next >= 0 ? &m->fields[f->next] : NULL;
}

const struct schema_field *schema_by_name(const struct schema_module *m, const char *name)
{
	for (uint32_t i = 0; i < m->nfields; i++)
		if (!strcmp(m->fields[i].name, name))
			return &m->fields[i];
	return NULL;
}

int written_slot(int module)
{
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		if (written_modules[slot].module == module)
			return slot;
	return -1;
}
