/* What is missing or damaged, for the user: the rest is shown. */
#include "cli.h"
#include "show.h"

void show_error(struct show *s, const char *where, const struct log_error *err)
{
	struct log_error placed = cli_error_in(where, err);
	output_flush(&s->out);
	cli_log_error(s->path, &placed);
	s->exit = CLI_PARTIAL;
}

bool show_partial(struct show *s, int module)
{
	const char *name = log_module_name(module);
	if (!(log_container(s->log)->partial >> module & 1))
		return true;
	output_format(&s->out, "\n# *WARNING*: The %s module contains incomplete data!\n", name);
	output_text(&s->out, "#            The program used more files than there was memory to record.\n");
	if (s->parts & SHOW_INCOMPLETE)
		return true;
	output_text(&s->out, "#            It is shown with --show-incomplete.\n");
	output_flush(&s->out);
	s->exit = cli_fail(CLI_PARTIAL, "%s: %s module is incomplete and left out: add --show-incomplete to see it",
			   s->path, name);
	return false;
}
