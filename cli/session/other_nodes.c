#include "other_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "launcher.h"

bool other_nodes_likely(const char *command)
{
	static const char *const numbers[] = {"SLURM_JOB_NUM_NODES", "SLURM_NNODES", "FLUX_JOB_NNODES", "PBS_NUM_NODES",
					      "NHOSTS"};
	for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
		const char *value = getenv(numbers[n]);
		if (value && atoi(value) > 1)
			return true;
	}
	/* LSF: "hostA 4 hostB 4". */
	const char *pairs = getenv("LSB_MCPU_HOSTS");
	for (int words = 0; pairs && *(pairs += strspn(pairs, " ")); pairs += strcspn(pairs, " "))
		if (++words > 2)
			return true;
	return launcher_program(command);
}
