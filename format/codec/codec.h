/* Decompression of one stream after another, piece by piece. */
#ifndef IOLENS_CODEC_H
#define IOLENS_CODEC_H

#include <stddef.h>
#include <stdint.h>

enum codec_result {
	CODEC_MORE, /* wants more input or more room */
	CODEC_END,  /* end of a stream; the next call begins a new one */
	CODEC_BAD,  /* no valid stream */
	CODEC_NO_MEMORY,
	CODEC_UNSUPPORTED, /* the library was built without it */
};

/* As the header of a log names it. */
enum log_compression { LOG_ZLIB, LOG_BZIP2, LOG_PLAIN, LOG_COMPRESSIONS };

struct codec_io {
	const uint8_t *in;
	size_t in_left;
	uint8_t *out;
	size_t out_left;
};

struct codec {
	const char *name;
	/* CODEC_MORE and *state, or an error and no state. */
	enum codec_result (*open)(void **state);
	enum codec_result (*step)(void *state, struct codec_io *io);
	void (*close)(void *state);
};

/* Compression. */
struct encoder {
	size_t most;         /* bytes that a stream should not have many more than; 0 = any number */
	void *(*open)(void); /* NULL: no memory */
	/* Takes input, gives output; with `last` until CODEC_END. One state makes one stream. */
	enum codec_result (*step)(void *state, struct codec_io *io, int last);
	void (*close)(void *state);
};

extern const struct codec codec_zlib;
extern const struct codec codec_gzip;
/* Makes bzip2 regions readable (separate because it needs libbz2, which the preload library must not). */
void log_enable_bzip2(void);

extern const struct codec *codec_bzip2;     /* NULL until log_enable_bzip2 */
extern const struct encoder *encoder_bzip2; /* the same */

/* Makes the smallest zlib streams, in time that no process under observation has (separate for libdeflate's sake). */
void log_enable_smallest(void);

extern const struct encoder *encoder_smallest; /* NULL until log_enable_smallest */

#endif
