/*
 * The whole of libiolens-synchronization.so, which is preloaded behind libiolens-communication.so where ranks shall meet before each
 * collective call. All must do it or none: it travels with LD_PRELOAD, without which a rank does not count either, and no variable
 * can be left behind.
 */
extern const char iolens_mpi_synchronization;
const char iolens_mpi_synchronization __attribute__((visibility("default"))) = 1;
