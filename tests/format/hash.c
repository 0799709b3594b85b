#include "hash.h"

#include <string.h>

#include "crc32c.h"
#include "unit.h"

TEST(hash_gives_the_ids_of_released_logs)
{
	static const struct {
		const char *name;
		uint64_t id;
	} known[] = {
		{"", 0x8db63936938575bf},
		{"a", 0x1d48fd74d88633ac},
		{"<STDIN>", 0xcc7a12a8f35a0099},
		{"<STDOUT>", 0xdcefd8e1e1999787},
		{"<STDERR>", 0x6473749c774423af},
		{"/dev/null", 0x8c3ad03d0a430ec7},
		{"/tmp/test.dat", 0x55bb2b919a7a1b35},
		{"0123456789abcdefghijklm", 0xca88fef0246f96ed},
		{"0123456789abcdefghijklmn", 0xa47ade2d8ca974d6},
		{"/home/user/data/output-000001.h5", 0xc68d7fd5667adcc3},
		{"/scratch/project/run-17/checkpoints/ckpt_00000042.nc:temperature", 0xdbb2d16fcc93d1e2},
		{"heatmap:POSIX", 0xe6430154a9dcc87d},
		{"heatmap:MPIIO", 0x32ea7234fb3f6838},
		{"heatmap:STDIO", 0x375d9724791e6580},
		{"heatmap:DFS", 0x162cfaf06beb9934},
		{"heatmap:DAOS", 0x395603fcf35d6e85},
		{"darshan-bgq-record", 0xef0b1257accedfa3},
		{"total-mdhim-obj-stats", 0x50e314b4ac625ac9},
		{"APMPI", 0x1f3c4394967ac446},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		EQUAL(log_id(known[i].name), known[i].id);
}

TEST(hash_depends_on_the_level)
{
	EQUAL(log_hash("node01", 6, 1234567), 15070176924235783367u);
}

TEST(hash_reads_nothing_behind_the_key)
{
	char key[64];
	for (size_t n = 0; n < 60; n++) {
		memset(key, 'k', sizeof key);
		uint64_t first = log_hash(key, n, 0);
		memset(key + n, 'x', sizeof key - n);
		EQUAL(log_hash(key, n, 0), first);
	}
}

TEST(paths_are_cleaned_as_darshan_does)
{
	static const struct {
		const char *cwd, *path, *clean;
	} cases[] = {
		{"/home/u", "/a/b", "/a/b"},
		{"/home/u", "b", "/home/u/b"},
		{"/", "b", "/b"},
		{"/home/u", "./b", "/home/u/b"},
		{"/home/u", "/a//b///c", "/a/b/c"},
		{"/home/u", "/a/././b", "/a/b"},
		{"/home/u", "/a/.//./b", "/a/b"},
		{"/home/u", "/a/../b", "/a/../b"},
		{"/home/u", "../b", "/home/u/../b"},
		{"/home/u", "/a/b/", "/a/b/"},
		{"/home/u", "/a/.", "/a/."},
		{"/home/u", "/.hidden/./x", "/.hidden/x"},
		{"/home/u", "<STDIN>", "<STDIN>"},
		{"/home/u", "<a>//b", "<a>//b"},
		{"/home/u", "", "/home/u/"},
		{NULL, "/a//b", "/a/b"},
	};
	char out[64];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		EQUAL(log_clean_path(cases[i].cwd, cases[i].path, out, sizeof out), strlen(cases[i].clean));
		TEXT(out, cases[i].clean);
	}
}

TEST(paths_that_do_not_fit_are_refused)
{
	char out[8];
	EQUAL(log_clean_path("/", "12345", out, sizeof out), 6);
	EQUAL(log_clean_path("/a", "123456", out, sizeof out), 0);
	EQUAL(log_clean_path(NULL, "/1234567", out, sizeof out), 0);
}

TEST(crc32c_gives_the_published_values)
{
	uint8_t bytes[32] = {0};
	EQUAL(log_crc32c(0, "123456789", 9), 0xe3069283);
	EQUAL(log_crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, 32);
	EQUAL(log_crc32c(0, bytes, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	EQUAL(log_crc32c(0, bytes, 32), 0x46dd794e);
	EQUAL(log_crc32c(log_crc32c(0, bytes, 11), bytes + 11, 21), 0x46dd794e);
}
