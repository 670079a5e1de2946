#ifndef CHANDSTAMP_CURL_H
#define CHANDSTAMP_CURL_H

#include <stddef.h>

// Sends mails with libcurl 7.69 or later. It is looked for when it is needed: to link against it would need it wherever a server is
// built or runs, also where none sends mails by SMTP.

// One mail. Texts end in a null byte.
typedef struct HSMail {
  // smtp://host:port/name or smtps://host:port/name; the name is what the client calls itself.
  const char *url;
  // Whether a connection that begins in clear must continue with TLS (RFC 3207).
  int requires_tls;
  // Null for none.
  const char *user;
  const char *password;
  // A file of certificates to trust; null trusts those of the system.
  const char *ca_file;
  const char *from;
  const char *to;
  // Whether an address has characters outside ASCII, which needs SMTPUTF8 (RFC 6531).
  int needs_utf8;
  // With CRLF at the end of each line.
  const char *text;
  size_t count;
  long connect_milliseconds;
  long milliseconds;
  // Called about once a second; another value than 0 ends the attempt.
  int (*is_cancelled)(const void *context);
  const void *context;
} HSMail;

typedef enum HSMailEnd {
  HSMailSent,
  // There is no libcurl, or it cannot be used.
  HSMailNoLibrary,
  HSMailTimedOut,
  // The mail needs SMTPUTF8, and the server does not have it.
  HSMailNoUTF8,
  // The server refused the recipient or the mail, after it accepted the sender: see the reply.
  HSMailRefused,
  // Anything else: see the words.
  HSMailFailed,
} HSMailEnd;

typedef struct HSMailOutcome {
  HSMailEnd end;
  // The code of the last reply of the server before its farewell; 0 if there was none.
  long reply;
  // Why it failed, without addresses.
  char words[256];
} HSMailOutcome;

// Blocks until the mail was sent, or was not. The caller's thread is its own: it blocks SIGPIPE.
void handstamp_curl_send(const HSMail *mail, HSMailOutcome *outcome);

#endif
