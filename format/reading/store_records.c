#include "store_records.h"

int store_records_open(struct store_records *s, struct log *store, int module, struct log_error *err)
{
	*s = (struct store_records){0};
	int code = log_records_open(&s->records, store, module, err);
	if (code >= 0)
		code = runs_load(&s->runs, store, module, err);
	if (code < 0)
		store_records_close(s);
	return code;
}

int store_records_next(struct store_records *s, struct log_record *out, struct log_error *err)
{
	int code = log_records_next(s->records, out, err);
	if (code > 0)
		runs_add(&s->runs, out);
	return code;
}

void store_records_close(struct store_records *s)
{
	if (s->records)
		log_records_close(s->records);
	s->records = NULL;
	runs_free(&s->runs);
}
