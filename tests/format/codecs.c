/* Every error of a decoder has its own text. The linker gives us zlib's inflateInit2_ (meson.build). */
#include <stdlib.h>
#include <zlib.h>

#include "region.h"
#include "unit.h"

int __real_inflateInit2_(z_streamp z, int window, const char *version, int size);
int __wrap_inflateInit2_(z_streamp z, int window, const char *version, int size);

static int answer;

int __wrap_inflateInit2_(z_streamp z, int window, const char *version, int size)
{
	return answer ? answer : __real_inflateInit2_(z, window, version, size);
}

static int read_gzip(int begins_with, struct log_error *err)
{
	static const uint8_t damaged[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff};
	struct source s;
	struct region r;
	uint8_t out[16];
	source_open_memory(&s, damaged, sizeof damaged);
	answer = begins_with;
	int code = region_open_coded(&r, &s, &codec_gzip, err);
	answer = Z_OK;
	if (code < 0)
		return code;
	int64_t got = region_read(&r, out, sizeof out, err);
	region_close(&r);
	return (int)got;
}

TEST(each_error_of_a_decoder_has_its_text)
{
	static const struct {
		int zlib, code;
		const char *message;
	} cases[] = {
		{Z_STREAM_ERROR, LOG_E_UNSUPPORTED, "this build of iolens reads no gzip"},
		{Z_VERSION_ERROR, LOG_E_UNSUPPORTED, "this build of iolens reads no gzip"},
		{Z_MEM_ERROR, LOG_E_MEMORY, "not enough memory to read gzip"},
		{Z_OK, LOG_E_DAMAGED, "compressed data are damaged"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct log_error err = {0};
		EQUAL(read_gzip(cases[i].zlib, &err), cases[i].code);
		TEXT(err.message, cases[i].message);
	}
}
