#include "other_nodes.h"

#include <stdlib.h>

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
	return launcher_program(command);
}
