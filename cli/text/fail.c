/* What goes wrong, as one line on standard error. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "progress.h"
#include "shown.h"

int cli_fail(int code, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	progress_hide();
	fputs("iolens: ", stderr);
	shown_vline(stderr, format, list);
	va_end(list);
	return code;
}

static const char *advice(const struct log_error *err)
{
	switch ((enum log_code)err->code) {
	case LOG_E_IO:
		return strerror(err->system);
	case LOG_E_NOT_LOG:
		return "give the path of a .darshan log";
	case LOG_E_UNFINISHED:
		return "use the log that the job leaves when it ends";
	case LOG_E_OLD:
		return "unpack it first";
	case LOG_E_VERSION:
		return "a newer iolens may read it";
	case LOG_E_TRUNCATED:
		return "the copy is incomplete, get the whole file";
	case LOG_E_DAMAGED:
		return "compare it with the original file";
	case LOG_E_EXISTS:
		return "take another name, or remove it";
	case LOG_E_UNSUPPORTED:
		return "a newer iolens may read it";
	case LOG_E_MEMORY:
		return "if iolens check finds it sound, IOLENS_MEMORY=4G allows more than 1 GiB and 32 times its size";
	default:
		return "please report this";
	}
}

struct log_error cli_error_in(const char *part, const struct log_error *err)
{
	struct log_error placed = *err;
	snprintf(placed.message, sizeof placed.message, "%s: %.120s", part, err->message);
	return placed;
}

void cli_log_error(const char *path, const struct log_error *err)
{
	if (err->offset == LOG_NOWHERE)
		cli_fail(0, "%s: %s: %s", path, err->message, advice(err));
	else
		cli_fail(0, "%s: %s at byte %llu: %s", path, err->message, (unsigned long long)err->offset,
			 advice(err));
}
