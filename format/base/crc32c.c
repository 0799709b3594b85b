#include "crc32c.h"

/* Polynomial 0x82f63b78 (reflected), by nibbles: sections are small, and 16 entries are easy to check. */
static const uint32_t nibble[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t log_crc32c(uint32_t crc, const void *data, size_t n)
{
	const uint8_t *p = data;
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		crc = nibble[crc & 15] ^ (crc >> 4);
		crc = nibble[crc & 15] ^ (crc >> 4);
	}
	return ~crc;
}
