/* AddressSanitizer of GCC refuses to start behind a preloaded library. It asks the program for its options: we answer for one that does not. */

const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
