/* The counters of records of variable size. */
#include <stdio.h>

#include "show.h"

static void show_line(struct show *s, const struct frame *f, const char *label, const char *value, size_t n)
{
	output_bytes(&s->out, f->before, f->nbefore);
	output_text(&s->out, label);
	output_text(&s->out, "\t");
	output_bytes(&s->out, value, n);
	output_bytes(&s->out, f->after, f->nafter);
}

static void show_number(struct show *s, const struct frame *f, const char *label, int64_t bin, const void *value)
{
	if (!output_room(&s->out, f->nbefore + 3 * OUTPUT_NUMBER + f->nafter))
		return;
	char *to = put_slack(s->out.at + s->out.used, f->before, f->nbefore);
	to = stpcpy(to, label);
	to = put_i64(to, bin);
	*to++ = '\t';
	to = show_value(to, FIELD_I64, value);
	to = put_slack(to, f->after, f->nafter);
	s->out.used = (size_t)(to - s->out.at);
}

/* The record has its write bins first, the text its read bins. */
static void show_heatmap(struct show *s, const struct log_record *r, const struct frame *f)
{
	struct heatmap_record head;
	memcpy(&head, r->data, sizeof head);
	const uint8_t *written = (const uint8_t *)r->data + sizeof head;
	const uint8_t *read = written + 8 * head.nbins;
	for (int64_t i = 0; i < head.nbins; i++)
		show_number(s, f, "HEATMAP_READ_BIN_", i, read + 8 * i);
	for (int64_t i = 0; i < head.nbins; i++)
		show_number(s, f, "HEATMAP_WRITE_BIN_", i, written + 8 * i);
}

static void show_servers(struct show *s, const struct log_record *r, const struct frame *f)
{
	size_t n;
	const struct schema_field *server = schema_by_name(r->schema, "server");
	const uint8_t *requests = log_record_array(r, server, &n);
	for (size_t i = 0; i < n; i++)
		show_number(s, f, "MDHIM_SERVER_", (int64_t)i, requests + 8 * i);
}

/* ---- Lustre ---- */

/* Names of the bits that are set, with commas. */
static void name_bits(char text[SHOW_TEXT], const struct schema_value *names, int64_t value)
{
	size_t used = 0;
	for (; names->name; names++)
		if (value & names->value)
			used += (size_t)snprintf(text + used, SHOW_TEXT - used, "%s%s", used ? "," : "", names->name);
	if (!used)
		strcpy(text, "0");
}

static void name_value(char text[SHOW_TEXT], const struct schema_value *names, int64_t value)
{
	while (names->name && names->value != value)
		names++;
	strcpy(text, names->name ? names->name : "N/A");
}

static size_t member_text(char text[SHOW_TEXT], const struct schema_field *f, const uint8_t *element)
{
	int64_t value;
	memset(text, 0, SHOW_TEXT);
	memcpy(&value, element + f->offset, sizeof value);
	if (f->type == FIELD_TEXT)
		memcpy(text, element + f->offset, 8u * f->count);
	else if (f->bits && value != -1)
		name_bits(text, f->values, value);
	else if (f->values)
		name_value(text, f->bits ? &(struct schema_value){0} : f->values, value);
	else
		put_i64(text, value);
	if (!*text)
		strcpy(text, "N/A");
	return strlen(text);
}

/* LUSTRE_COMP#_FLAGS of component 3: LUSTRE_COMP3_FLAGS */
static void number_label(char out[SHOW_TEXT], const char *label, size_t number)
{
	size_t before = strcspn(label, "#");
	snprintf(out, SHOW_TEXT, "%.*s%zu%s", (int)before, label, number, label + before + 1);
}

static void show_component(struct show *s, const struct frame *f, const struct schema_element *e,
			   const uint8_t *component, size_t number)
{
	char label[SHOW_TEXT], text[SHOW_TEXT];
	for (int i = 0; i < e->nfields; i++) {
		size_t n = member_text(text, &e->fields[i], component);
		number_label(label, e->fields[i].labels[0].darshan, number);
		if (e->fields[i].type == FIELD_TEXT) {
			for (size_t k = 0; k < n; k++)
				text[k] = (unsigned char)text[k] < ' ' || text[k] == 0x7f ? '?' : text[k];
		}
		show_line(s, f, label, text, n);
	}
}

static void show_lustre(struct show *s, const struct log_record *r, const struct frame *f)
{
	size_t n, stripes, next = 0;
	const struct schema_field *field = schema_by_name(r->schema, "component");
	const uint8_t *components = log_record_array(r, field, &n);
	const uint8_t *targets = log_record_array(r, schema_by_name(r->schema, "ost_id"), &stripes);
	for (size_t i = 0; i < n; i++) {
		struct lustre_component c;
		char label[SHOW_TEXT];
		memcpy(&c, components + i * sizeof c, sizeof c);
		show_component(s, f, field->element, components + i * sizeof c, i + 1);
		snprintf(label, sizeof label, "LUSTRE_COMP%zu_OST_ID_", i + 1);
		for (int64_t k = 0; k < c.stripe_count && next < stripes; k++, next++)
			show_number(s, f, label, k, targets + 8 * next);
	}
}

void show_arrays(struct show *s, const struct log_record *r, const struct frame *f)
{
	if (r->schema->layout == LAYOUT_HEATMAP)
		show_heatmap(s, r, f);
	else if (r->schema->layout == LAYOUT_COUNTED)
		show_servers(s, r, f);
	else if (r->schema->layout == LAYOUT_LUSTRE)
		show_lustre(s, r, f);
}
