/* peak COMMAND [ARGUMENT...]: runs it, then prints on standard error its exit code, wall and processor seconds, and its peak
 * memory in KiB. A child's peak counts what its parent held when it began, and a Python of some hundred megabytes holds more
 * than what is measured. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	struct rusage used;
	int status;
	double began = now();
	pid_t child = argc > 1 ? fork() : -1;
	if (child == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &used) != child)
		return 2;
	fprintf(stderr, "\npeak: %d %.6f %.6f %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		now() - began, seconds(&used.ru_utime) + seconds(&used.ru_stime), used.ru_maxrss);
	return 0;
}
