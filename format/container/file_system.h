/* What kind of file system a mount is: by its type, and where that is not enough by its source. */
#ifndef IOLENS_FILE_SYSTEM_H
#define IOLENS_FILE_SYSTEM_H

#include <stdbool.h>

/* lustre, nfs, fuse, local, ...; "" of a type that is not known. source may be NULL. */
const char *file_system_class(const char *type, const char *source);

/* Files there are another machine's, or of a program that serves them: worth telling apart by their source. */
bool file_system_is_served(const char *type);

#endif
