#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "show.h"

static void show_banner(struct show *s, const char *name)
{
	static const char stars[] = "# *******************************************************\n";
	output_format(&s->out, "\n%s# %s module data\n%s", stars, name, stars);
}

static void show_records(struct show *s, struct log_records *records, const struct base_lines *b, struct sums *u)
{
	struct log_record r;
	struct log_error err;
	int code;
	while ((code = log_records_next(records, &r, &err)) > 0 && !s->out.error) {
		if (!show_wants(s, &r))
			continue;
		if (s->parts & SHOW_BASE)
			show_record(s, b, &r);
		if (!sums_add(u, &r)) {
			log_fail(&err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
			code = LOG_E_MEMORY;
			break;
		}
	}
	if (code < 0)
		show_error(s, u->module->name, &err);
}

/* What the region says of all its records: lines of their own. */
static void show_region_header(struct show *s, struct log_records *records)
{
	struct log_record header;
	struct base_lines b;
	if (log_records_header(records, &header, NULL) <= 0)
		return;
	if (base_open(&b, header.schema))
		show_record(s, &b, &header);
	base_close(&b);
}

static void show_body(struct show *s, int module, struct log_records *records, const struct base_lines *b,
		      struct sums *u)
{
	show_banner(s, log_module_name(module));
	if (!show_partial(s, module))
		return;
	if (s->parts & (SHOW_BASE | SHOW_TOTAL))
		show_description(s, u->module);
	if (s->parts & SHOW_BASE)
		output_text(&s->out, "\n#<module>\t<rank>\t<record id>\t<counter>\t<value>\t"
				     "<file name>\t<mount pt>\t<fs type>\n");
	if (s->parts & SHOW_BASE)
		show_region_header(s, records);
	show_records(s, records, b, u);
	sums_end(u);
	show_sums(s, u);
}

static void show_decoded(struct show *s, int module, struct log_records *records)
{
	const struct schema_module *m = &schema_modules[module];
	struct base_lines b = {0};
	struct sums u;
	if (!sums_open(&u, m, s->parts) || !base_open(&b, m))
		s->exit = cli_fail(CLI_INPUT, "%s: not enough memory", s->path);
	else if (u.parts || s->parts & SHOW_BASE)
		show_body(s, module, records, &b, &u);
	base_close(&b);
	sums_close(&u);
}

static void show_module(struct show *s, int module)
{
	const struct log_container *c = log_container(s->log);
	struct log_records *records;
	struct log_error err;
	int code = log_records_open(&records, s->log, module, &err);
	if (code >= 0 && schema_modules[module].layout == LAYOUT_DXT)
		output_format(&s->out, "\n# iolens trace shows the %s module\n", log_module_name(module));
	else if (code >= 0)
		show_decoded(s, module, records);
	else if (code == LOG_E_UNSUPPORTED)
		output_format(&s->out, "\n# %s module, version %u: not decoded by this version of iolens\n",
			      log_module_name(module), c->module_version[module]);
	else
		show_error(s, log_module_name(module), &err);
	log_records_close(records);
}

static void show_modules(struct show *s)
{
	const struct log_container *c = log_container(s->log);
	bool any = false;
	for (int i = 0; i < LOG_MAX_MODULES && !s->out.error; i++) {
		if ((!c->module[i].length && !(c->partial >> i & 1)) || !filter_module(&s->filter, i))
			continue;
		any |= c->module[i].length > 0;
		show_module(s, i);
	}
	if (!any)
		output_text(&s->out, "\n# no module data available.\n");
}

static void show_log(struct show *s)
{
	struct log_error err;
	if (log_job(s->log, &s->job, &err) < 0)
		show_error(s, "job", &err);
	if (s->form != SHOW_TEXT_FORM) {
		if (log_names(s->log, &err) < 0)
			show_error(s, "names", &err);
		(s->form == SHOW_JSON ? show_json : show_csv)(s);
		return;
	}
	if (log_old_version(s->log)) {
		show_old(s);
		return;
	}
	if (s->parts & (SHOW_BASE | SHOW_PER_FILE) && log_names(s->log, &err) < 0)
		show_error(s, "names", &err);
	show_header(s);
	show_modules(s);
	if (s->parts & SHOW_EXT)
		show_trailer(s);
}

static int show_main(int argc, char **argv)
{
	struct show s = {0};
	struct log_error err;
	int at = show_parse(argc, argv, &s);
	if (at < 0)
		return s.exit;
	s.path = argv[at];
	if (log_open_file(&s.log, s.path, &err) < 0) {
		cli_log_error(s.path, &err);
		return CLI_INPUT;
	}
	if (!output_open(&s.out, STDOUT_FILENO) || !output_open(&s.frame, -1))
		return cli_fail(CLI_INPUT, "not enough memory");
	show_log(&s);
	output_close(&s.frame);
	int failed = output_close(&s.out);
	log_close(s.log);
	filter_close(&s.filter);
	return failed ? cli_fail(CLI_INPUT, "standard output: %s", strerror(failed)) : s.exit;
}

const struct command show_command = {
	.name = "show",
	.main = show_main,
	.group = GROUP_LOOK,
	.place = 30,
	.about = "its counters, line by line, as darshan-parser prints them",
	.choices = &show_choices,
	.reads_logs = true,
};
