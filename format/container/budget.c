#include "budget.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of "K", "MiB", "g": 0 if it is no unit. */
static uint64_t unit_of(const char *text)
{
	static const char letters[] = "kmgt";
	const char *found = *text ? strchr(letters, tolower((unsigned char)*text)) : NULL;
	if (!*text)
		return 1;
	text += found != NULL;
	bool rest = !*text || !strcasecmp(text, "b") || (found && !strcasecmp(text, "ib"));
	return !rest ? 0 : found ? (uint64_t)1024 << 10 * (found - letters) : 1;
}

int budget_spare(uint64_t *out, uint64_t usual, struct log_error *err)
{
	const char *text = getenv("IOLENS_MEMORY");
	char *end;
	*out = usual;
	if (!text || !*text)
		return LOG_OK;
	uint64_t number = strtoull(text, &end, 10), unit = unit_of(end);
	if (!isdigit((unsigned char)*text) || !unit || number > UINT64_MAX / unit)
		return log_fail(err, LOG_E_USAGE, LOG_NOWHERE, "IOLENS_MEMORY is not a size such as 4G: ", text);
	*out = number * unit;
	return LOG_OK;
}

uint64_t budget_for(uint64_t spare, uint64_t stored)
{
	if (stored > (UINT64_MAX - spare) / BUDGET_RATIO)
		return UINT64_MAX;
	return spare + BUDGET_RATIO * stored;
}
