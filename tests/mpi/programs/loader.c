/* Loads a program's shared object the way Python loads an extension, out of the global scope: its MPI comes along. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *object = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*run)(int, char **) = object ? (int (*)(int, char **))dlsym(object, "job_main") : NULL;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 9;
	}
	return run(1, argv);
}
