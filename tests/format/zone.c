#include "zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "unit.h"

/* East and west, half hours, both halves of the year, rules of several forms, none. */
static const char *const zones[] = {
	"UTC",
	"Europe/Berlin",
	"Europe/Dublin",
	"America/New_York",
	"America/St_Johns",
	"America/Santiago",
	"Asia/Kolkata",
	"Asia/Jerusalem",
	"Asia/Gaza",
	"Africa/Casablanca",
	"Africa/Cairo",
	"Australia/Sydney",
	"Australia/Lord_Howe",
	"Pacific/Apia",
	"Antarctica/Troll",
};

static size_t read_zone(const char *name, uint8_t *file, size_t room)
{
	char path[100];
	snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(file, 1, room, f) : 0;
	if (f)
		fclose(f);
	return n;
}

TEST(zone_is_that_of_the_c_library)
{
	static uint8_t file[8192];
	int64_t last = INT64_C(5) << 30; /* in 2140: files end in 2037, then comes a rule */
	for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
		size_t n = read_zone(zones[i], file, sizeof file);
		if (!n)
			continue;
		setenv("TZ", zones[i], 1);
		tzset();
		for (int64_t at = 0; at < last; at += 36 * 3600 - 7) {
			time_t then = at;
			struct tm there;
			localtime_r(&then, &there);
			if (zone_offset(file, n, at) != there.tm_gmtoff)
				fprintf(stderr, "%s at %lld\n", zones[i], (long long)at);
			EQUAL(zone_offset(file, n, at), there.tm_gmtoff);
		}
	}
}

TEST(zone_of_a_damaged_file_is_read_within_its_bytes)
{
	static uint8_t file[8192];
	size_t n = read_zone("Europe/Berlin", file, sizeof file);
	for (size_t cut = 0; cut < n; cut += 7) {
		uint8_t *part = malloc(cut + !cut);
		for (size_t i = 0; i < cut; i++)
			part[i] = (uint8_t)(i % 97 == 40 ? file[i] ^ 0xff : file[i]);
		int64_t east = zone_offset(part, cut, 1800000000);
		EQUAL(east > -(INT64_C(1) << 32) && east < INT64_C(1) << 32, true);
		free(part);
	}
}
