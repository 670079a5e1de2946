#ifndef CHANDSTAMP_CRYPT_H
#define CHANDSTAMP_CRYPT_H

#include <stddef.h>

// bcrypt, by libxcrypt. It is looked for when it is needed: to link against it would need it wherever a server is built or runs, also
// where no password was ever hashed by another system.

// Whether the library is there.
int hs_crypt_is_available(void);

// Hashes a phrase as a setting says, such as an encoded hash, and compares the result with it in constant time. Both end in a null
// byte. Returns 1 if they are equal, 0 if not, -1 if the library is missing, -2 if it refuses the setting or has no memory.
int hs_crypt_matches(const char *phrase, const char *encoded);

#endif
