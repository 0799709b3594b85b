/* No MPI here: no_mpi probe looks for one as libraries do, no_mpi call does without looking. */
#include <dlfcn.h>
#include <string.h>

#ifdef STRONG
extern int MPI_Init(int *, char ***);
#else
extern int MPI_Init(int *, char ***) __attribute__((weak));
#endif

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "call"))
		return MPI_Init(&argc, &argv);
	return MPI_Init || dlsym(RTLD_DEFAULT, "MPI_Get_version") || dlsym(RTLD_DEFAULT, "MPI_Abi_get_version") ||
	       dlsym(RTLD_DEFAULT, "MPI_Initialized");
}
