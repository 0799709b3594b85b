#include "anonymization_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

enum { DIGITS = 2 * sizeof(struct pseudonym_key) };

#define KEY        "key:"
#define PASSPHRASE "passphrase:"
#define VARIABLE   "env:"

static bool begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* By its number: a wheel runs where libc has no getrandom. */
static int make_random(struct pseudonym_key *key)
{
	if (syscall(SYS_getrandom, key, sizeof *key, 0) == sizeof *key)
		return CLI_OK;
	return cli_fail(CLI_INPUT, "convert: no random key: %s", strerror(errno));
}

static void put_digits(const struct pseudonym_key *key, char text[DIGITS + 1])
{
	snprintf(text, DIGITS + 1, "%016llx%016llx", (unsigned long long)key->k[0], (unsigned long long)key->k[1]);
}

static bool read_digits(int fd, struct pseudonym_key *key)
{
	char text[DIGITS + 2] = "";
	size_t used = 0;
	for (ssize_t n; used <= DIGITS && (n = read(fd, text + used, DIGITS + 1 - used)) > 0;)
		used += (size_t)n;
	unsigned long long half[2];
	bool whole = used >= DIGITS && strspn(text, "0123456789abcdef") == DIGITS &&
		     sscanf(text, "%16llx%16llx", &half[0], &half[1]) == 2;
	if (whole)
		*key = (struct pseudonym_key){{half[0], half[1]}};
	return whole;
}

/* ---- a file ---- */

/* Only its owner may read it, who is this user; its descriptor, or -1 with *code set, and CLI_OK where there is none. */
static int open_private(const char *path, int *code)
{
	struct stat s;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	*code = CLI_OK;
	if (fd < 0 && errno != ENOENT)
		*code = cli_fail(CLI_INPUT, "convert: %s: %s", path, strerror(errno));
	if (fd < 0)
		return -1;
	if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
		*code = cli_fail(CLI_INPUT, "convert: %s: not a regular file", path);
	else if (s.st_uid != geteuid() || s.st_mode & 0077)
		*code = cli_fail(CLI_INPUT,
				 "convert: %s: other users may read it: use a file of your own, with chmod 600", path);
	if (*code == CLI_OK)
		return fd;
	close(fd);
	return -1;
}

/* Whole, or not there: under a name of its own first. One that another process has made meanwhile stays. */
static int keep(const char *path, const struct pseudonym_key *key)
{
	char part[PATH_MAX], text[DIGITS + 2];
	put_digits(key, text);
	text[DIGITS] = '\n';
	if (snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid()) >= (int)sizeof part)
		return cli_fail(CLI_INPUT, "convert: %s: %s", path, strerror(ENAMETOOLONG));
	int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), error = errno;
	if (fd >= 0) {
		bool whole = write(fd, text, DIGITS + 1) == DIGITS + 1 && fsync(fd) == 0;
		error = whole ? 0 : errno;
		error = close(fd) && !error ? errno : error;
		error = !error && link(part, path) && errno != EEXIST ? errno : error;
		unlink(part);
	}
	return error ? cli_fail(CLI_INPUT, "convert: %s: the key cannot be kept: %s", path, strerror(error)) : CLI_OK;
}

static int key_of_file(struct pseudonym_key *key, const char *path)
{
	int code, fd = open_private(path, &code);
	if (fd < 0 && code == CLI_OK) {
		code = make_random(key);
		code = code ? code : keep(path, key);
		fd = code ? -1 : open_private(path, &code);
	}
	if (fd < 0)
		return code ? code : cli_fail(CLI_INPUT, "convert: %s: %s", path, strerror(ENOENT));
	if (!read_digits(fd, key))
		code = cli_fail(CLI_INPUT, "convert: %s: not a key that convert made: expected %d hexadecimal digits",
				path, DIGITS);
	close(fd);
	return code;
}

/* ---- a passphrase ---- */

/* Python reads it, and prints the key. */
static int stretch(struct pseudonym_key *key, const char *source, const char *salt)
{
	char *args[] = {"anonymization-key", (char *)source, (char *)salt, NULL};
	int ends[2], status = 0;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return cli_fail(CLI_INPUT, "convert: %s", strerror(errno));
	pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		_exit(python_main(3, args));
	}
	close(ends[1]);
	bool good = child > 0 && read_digits(ends[0], key);
	close(ends[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return cli_fail(CLI_INPUT, "convert: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return WEXITSTATUS(status); /* it has said why */
	return good ? CLI_OK : cli_fail(CLI_INPUT, "convert: no key could be made of the passphrase");
}

static int key_of_passphrase(struct pseudonym_key *key, const char *source, const char **salt, char made[SALT_TEXT])
{
	struct pseudonym_key random;
	int code = CLI_OK;
	if (begins_with(source, PASSPHRASE)) {
		const char *path = source + strlen(PASSPHRASE);
		int fd = open_private(path, &code);
		if (fd < 0)
			return code ? code : cli_fail(CLI_INPUT, "convert: %s: %s", path, strerror(ENOENT));
		close(fd);
	}
	if (!*salt) {
		code = make_random(&random);
		put_digits(&random, made);
		*salt = made;
	}
	return code ? code : stretch(key, source, *salt);
}

int anonymization_key_refuse(void)
{
	return cli_fail(CLI_USAGE,
			"convert: --anonymize takes no passphrase on the command line, where ps and the shell's "
			"history show it: --anonymize=passphrase:FILE or env:NAME, or no value for a random key");
}

int anonymization_key(struct pseudonym_key *key, const char *source, const char **salt, char made[SALT_TEXT])
{
	bool passphrase = source && (begins_with(source, PASSPHRASE) || begins_with(source, VARIABLE));
	if (source && !passphrase && !begins_with(source, KEY))
		return anonymization_key_refuse();
	if (*salt && !passphrase)
		return cli_fail(CLI_USAGE, "convert: --salt goes with --anonymize=passphrase:FILE or env:NAME");
	if (passphrase)
		return key_of_passphrase(key, source, salt, made);
	return source ? key_of_file(key, source + strlen(KEY)) : make_random(key);
}
