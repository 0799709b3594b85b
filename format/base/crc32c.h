/* CRC-32C (Castagnoli), as in iSCSI and ext4. */
#ifndef IOLENS_CRC32C_H
#define IOLENS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues from `crc`; 0 to begin. */
uint32_t log_crc32c(uint32_t crc, const void *data, size_t n);

#endif
