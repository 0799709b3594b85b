#include "schema.h"

#include <string.h>

#include "unit.h"

TEST(fields_fill_their_records_without_gaps)
{
	for (int i = 0; i < LOG_MOD_COUNT; i++) {
		const struct schema_module *m = &schema_modules[i];
		uint32_t at = 16;
		for (uint32_t k = 0; k < m->nfields; k++) {
			EQUAL(m->fields[k].offset, at);
			at += 8u * m->fields[k].count;
		}
		if (m->version)
			EQUAL(at, m->size);
	}
}

TEST(labels_have_the_names_of_released_tools)
{
	const struct schema_module *m = &schema_modules[LOG_MOD_POSIX];
	TEXT(schema_by_name(m, "opens")->labels[0].darshan, "POSIX_OPENS");
	TEXT(schema_by_name(m, "read_time")->labels[0].darshan, "POSIX_F_READ_TIME");
	TEXT(schema_by_name(m, "read_time")->labels[0].name, "read_time");
	TEXT(schema_by_name(m, "size_write")->labels[9].darshan, "POSIX_SIZE_WRITE_1G_PLUS");
	TEXT(schema_by_name(m, "size_write")->labels[9].name, "size_write_1g_plus");
	TEXT(schema_by_name(m, "stride")->labels[3].darshan, "POSIX_STRIDE4_STRIDE");
	TEXT(schema_by_name(m, "stride_count")->labels[3].darshan, "POSIX_STRIDE4_COUNT");
	TEXT(schema_by_name(m, "access")->labels[0].name, "access1_access");
	EQUAL(schema_by_name(m, "renamed_from")->type, FIELD_U64);
	CHECK(!schema_by_name(m, "nothing"));
}

TEST(offsets_are_those_of_the_structs)
{
	const struct schema_module *m = &schema_modules[LOG_MOD_POSIX];
	EQUAL(schema_by_name(m, "access")->offset, offsetof(struct posix_record, access));
	EQUAL(schema_by_name(m, "variance_rank_bytes")->offset, offsetof(struct posix_record, variance_rank_bytes));
	m = &schema_modules[LOG_MOD_STDIO];
	EQUAL(schema_by_name(m, "bytes_read")->offset, offsetof(struct stdio_record, bytes_read));
	m = &schema_modules[LOG_MOD_HEATMAP];
	EQUAL(schema_by_name(m, "nbins")->offset, offsetof(struct heatmap_record, nbins));
	EQUAL(schema_by_name(m, "write_bin")->count, 0);
}

TEST(interfaces_that_move_bytes_play_the_same_roles)
{
	static const enum field_role roles[] = {ROLE_OPENS,         ROLE_READS,     ROLE_WRITES,     ROLE_BYTES_READ,
						ROLE_BYTES_WRITTEN, ROLE_READ_TIME, ROLE_WRITE_TIME, ROLE_META_TIME,
						ROLE_OPEN_START,    ROLE_CLOSE_END, ROLE_FASTEST,    ROLE_SLOWEST};
	for (const struct schema_module *m = schema_modules; m < schema_modules + LOG_MOD_COUNT; m++)
		for (size_t k = 0; k < sizeof roles / sizeof *roles && m->interface && m->interface->level; k++)
			CHECK(strcmp(m->interface->level, "libc") != 0 || schema_by_role(m, roles[k]));
}

TEST(all_modules_of_the_format_have_a_name)
{
	for (int i = 0; i < LOG_MOD_COUNT; i++)
		CHECK(schema_modules[i].name && *schema_modules[i].name);
	TEXT(schema_modules[LOG_MOD_BGQ].name, "BG/Q");
	TEXT(schema_modules[LOG_MOD_DAOS].name, "DAOS");
}
