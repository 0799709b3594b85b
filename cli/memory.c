#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "budget.h"
#include "cli.h"

#define SPARE ((uint64_t)1 << 30)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIMITED = 0 };
#else
enum { LIMITED = 1 };
#endif

int cli_limit_memory(int argc, char **argv)
{
	uint64_t spare, stored = 0;
	struct log_error err;
	struct rlimit limit;
	struct stat file;
	if (budget_spare(&spare, SPARE, &err) < 0)
		return cli_fail(CLI_USAGE, "%s", err.message);
	for (int i = 1; i < argc; i++)
		if (!stat(argv[i], &file) && S_ISREG(file.st_mode))
			stored += (uint64_t)file.st_size;
	uint64_t most = budget_for(spare, stored);
	if (!LIMITED || getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur <= most)
		return CLI_OK;
	limit.rlim_cur = most;
	setrlimit(RLIMIT_AS, &limit);
	return CLI_OK;
}
