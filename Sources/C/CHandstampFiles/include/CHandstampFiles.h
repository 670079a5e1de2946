// Files that are part of the program, so that it is a single file.
#ifndef CHANDSTAMPFILES_H
#define CHANDSTAMPFILES_H
#include <stddef.h>

struct handstamp_file {
  const unsigned char *bytes;
  size_t count;
};

// A file of the pages, with a zero at its end.
struct handstamp_page {
  const char *name;
  const unsigned char *text;
};

// Those of the pages; the last one has no name.
const struct handstamp_page *handstamp_pages(void);

struct handstamp_file handstamp_openapi(void);
struct handstamp_file handstamp_common_passwords(void);

#endif
