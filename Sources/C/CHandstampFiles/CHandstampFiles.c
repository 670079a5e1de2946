#include "CHandstampFiles.h"

// SwiftPM can embed files, too, but as a Swift array whose compilation takes seconds for each 100 KB.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi[] = {
#embed "../../../docs/openapi.json"
};

static const unsigned char common_passwords[] = {
#embed "common-passwords.txt"
};

struct handstamp_file handstamp_openapi(void) {
  return (struct handstamp_file){openapi, sizeof openapi};
}

struct handstamp_file handstamp_common_passwords(void) {
  return (struct handstamp_file){common_passwords, sizeof common_passwords};
}
