// Files that are part of the program, so that it is a single file.
#ifndef CHANDSTAMPFILES_H
#define CHANDSTAMPFILES_H
#include <stddef.h>

struct handstamp_file {
  const unsigned char *bytes;
  size_t count;
};

struct handstamp_file handstamp_openapi(void);
struct handstamp_file handstamp_common_passwords(void);

#endif
