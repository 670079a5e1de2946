#include "CHandstampCrypt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// As libxcrypt's crypt.h declares it: it allocates the memory that it works in, so that threads share nothing.
static char *(*crypt_ra_at)(const char *phrase, const char *setting, void **data, int *size);
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  // Compatible with glibc's former library on Debian and Ubuntu, without it elsewhere.
  static const char *const names[] = {"libcrypt.so.1", "libcrypt.so.2"};
  for (size_t i = 0; i < sizeof names / sizeof *names && !crypt_ra_at; i++) {
    void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (handle) *(void **)&crypt_ra_at = dlsym(handle, "crypt_ra");
  }
}

int hs_crypt_is_available(void) {
  pthread_once(&once, load);
  return crypt_ra_at != NULL;
}

int hs_crypt_matches(const char *phrase, const char *encoded) {
  if (!hs_crypt_is_available()) return -1;
  void *data = NULL;
  int size = 0;
  const char *made = crypt_ra_at(phrase, encoded, &data, &size);
  int result = -2;
  if (made && made[0] != '*') {
    size_t count = strlen(encoded);
    unsigned char difference = strlen(made) != count;
    if (!difference) {
      for (size_t i = 0; i < count; i++) difference |= (unsigned char)(made[i] ^ encoded[i]);
    }
    result = difference == 0;
  }
  if (data) {
    // It has worked on the phrase.
    if (size > 0) memset(data, 0, (size_t)size);
    __asm__ __volatile__("" : : "r"(data) : "memory");
    free(data);
  }
  return result;
}
