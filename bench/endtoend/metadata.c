/* What mdtest does: makes files in a folder, looks at each, opens and reads each, removes them. metadata FILES FOLDER */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void need(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	char name[4200], content[1024] = {0};
	struct stat told;
	if (argc != 3)
		return 2;
	long files = strtol(argv[1], NULL, 10);
	for (int step = 0; step < 4; step++) {
		for (long n = 0; n < files; n++) {
			snprintf(name, sizeof name, "%s/file.%ld", argv[2], n);
			if (step == 1) {
				need(stat(name, &told), "stat");
			} else if (step == 3) {
				need(unlink(name), "unlink");
			} else {
				int fd = open(name, step ? O_RDONLY : O_WRONLY | O_CREAT | O_EXCL, 0644);
				need(fd < 0, "open");
				ssize_t moved =
					step ? read(fd, content, sizeof content) : write(fd, content, sizeof content);
				need(moved != sizeof content, "read, write");
				need(close(fd), "close");
			}
		}
	}
	return 0;
}
