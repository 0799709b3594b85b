#include <stdlib.h>

#include "show.h"

static size_t count_labels(const struct schema_module *m, size_t *bytes)
{
	size_t n = 0;
	*bytes = 0;
	for (uint32_t i = 0; i < m->nfields; i++)
		for (int k = 0; k < m->fields[i].nlabels; k++, n++)
			*bytes += strlen(m->fields[i].labels[k].darshan) + 1;
	return n;
}

static void add_label(struct base_lines *b, const struct schema_field *f, int element, uint32_t *used)
{
	const char *name = f->labels[element].darshan;
	uint32_t n = (uint32_t)strlen(name);
	memcpy(b->labels + *used, name, n);
	b->labels[*used + n] = '\t';
	b->label[b->nlabels++] = (struct base_label){
		.at = *used,
		.length = n + 1,
		.offset = (uint16_t)(f->offset + 8 * element),
		.type = (uint8_t)f->type,
		.bytes = (uint16_t)(8 * f->count),
		.valid_if = f->valid_if < 0 ? NULL : f,
	};
	*used += n + 1;
}

bool base_open(struct base_lines *b, const struct schema_module *m)
{
	size_t bytes, n = count_labels(m, &bytes);
	uint32_t used = 0;
	/* 32: slack for put_slack */
	*b = (struct base_lines){.module = m, .labels = calloc(1, bytes + 32), .label = calloc(n, sizeof *b->label)};
	if (!b->labels || !b->label)
		return false;
	for (int place = -1; place <= 1; place++)
		for (uint32_t i = 0; i < m->nfields; i++)
			for (int k = 0; k < m->fields[i].nlabels && m->fields[i].count; k++)
				if (m->fields[i].shown == place)
					add_label(b, &m->fields[i], k, &used);
	return true;
}

void base_close(struct base_lines *b)
{
	free(b->labels);
	free(b->label);
}

void show_description(struct show *s, const struct schema_module *m)
{
	output_format(&s->out, "\n# description of %s counters:\n", m->name);
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		if (f->nlabels == 1)
			output_format(&s->out, "#   %s: %s\n", f->labels[0].darshan, f->doc);
		else if (f->nlabels)
			output_format(&s->out, "#   %s ... %s: %s\n", f->labels[0].darshan,
				      f->labels[f->nlabels - 1].darshan, f->doc);
	}
}

static void add_text(struct output *o, const char *text)
{
	output_text(o, "\t");
	put_escaped(o, text);
}

/* Name, mount point and file system, each with a tab before it. */
static void add_place(struct show *s, const struct log_record *r)
{
	char object[SHOW_TEXT], mount[SHOW_TEXT];
	const char *name = log_name(s->log, r->id);
	if (r->schema->nameless) {
		output_text(&s->frame, "\t\t\t");
	} else if (show_object(r, object, mount)) {
		add_text(&s->frame, *object ? object : name ? name : "(null)");
		add_text(&s->frame, mount);
		add_text(&s->frame, "N/A");
	} else {
		const struct log_pair *p = name && s->job ? log_mount_of(s->job, name) : NULL;
		add_text(&s->frame, name ? name : r->schema->called ? r->schema->called : "(null)");
		add_text(&s->frame, p ? p->key : "UNKNOWN");
		add_text(&s->frame, p ? p->value : "UNKNOWN");
	}
}

static bool make_frame(struct show *s, const struct log_record *r, struct frame *f)
{
	struct output *frame = &s->frame;
	frame->used = 0;
	output_text(frame, r->schema->name);
	output_text(frame, "\t");
	if (!output_room(frame, 2 * OUTPUT_NUMBER))
		return false;
	char *at = put_i64(frame->at + frame->used, r->rank);
	*at++ = '\t';
	at = put_u64(at, r->id);
	*at++ = '\t';
	frame->used = f->nbefore = (size_t)(at - frame->at);
	add_place(s, r);
	output_text(frame, "\n");
	f->before = frame->at;
	f->after = frame->at + f->nbefore;
	f->nafter = frame->used - f->nbefore;
	return true;
}

/* A text that may lack its end. */
static void show_text(struct show *s, const struct frame *f, const struct base_lines *b, const struct base_label *l,
		      const char *text)
{
	char whole[SHOW_TEXT] = {0};
	memcpy(whole, text, strnlen(text, l->bytes < sizeof whole ? l->bytes : sizeof whole - 1));
	output_bytes(&s->out, f->before, f->nbefore);
	output_bytes(&s->out, b->labels + l->at, l->length);
	put_escaped(&s->out, whole);
	output_bytes(&s->out, f->after, f->nafter);
}

static void show_plain(struct show *s, const struct base_lines *b, const struct log_record *r, const struct frame *f)
{
	const uint8_t *data = r->data;
	for (size_t i = 0; i < b->nlabels; i++) {
		const struct base_label *l = &b->label[i];
		if (l->valid_if && !log_record_has(r, l->valid_if))
			continue;
		if (l->type == FIELD_TEXT) {
			show_text(s, f, b, l, (const char *)data + l->offset);
			continue;
		}
		if (!output_room(&s->out, f->nbefore + l->length + OUTPUT_NUMBER + f->nafter))
			return;
		char *to = s->out.at + s->out.used;
		to = put_slack(to, f->before, f->nbefore);
		to = put_slack(to, b->labels + l->at, l->length);
		to = show_value(to, (enum field_type)l->type, data + l->offset);
		to = put_slack(to, f->after, f->nafter);
		s->out.used = (size_t)(to - s->out.at);
	}
}

void show_record(struct show *s, const struct base_lines *b, const struct log_record *r)
{
	struct frame f;
	if (!make_frame(s, r, &f))
		return;
	show_plain(s, b, r, &f);
	show_arrays(s, r, &f);
}
