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

// HTTP requests with libcurl 7.68 or later. Below are its functions with other names, and without variable arguments, which Swift
// cannot call.

typedef enum HSCurlOption {
  HSCurlSSLVersion = 32, HSCurlNoBody = 44, HSCurlUpload = 46, HSCurlHTTPProxyTunnel = 61, HSCurlFreshConnect = 74,
  HSCurlForbidReuse = 75, HSCurlHTTPVersion = 84, HSCurlNoSignal = 99, HSCurlConnectTimeoutMs = 156, HSCurlProtocols = 181,
  HSCurlPathAsIs = 234, HSCurlSuppressConnectHeaders = 265, HSCurlQuickExit = 322,
  HSCurlURL = 10002, HSCurlProxy = 10004, HSCurlErrorBuffer = 10010, HSCurlHTTPHeader = 10023, HSCurlSSLCert = 10025,
  HSCurlKeyPassword = 10026, HSCurlCustomRequest = 10036, HSCurlCAInfo = 10065, HSCurlSSLKey = 10087, HSCurlCAPath = 10097,
  HSCurlAcceptEncoding = 10102, HSCurlProxyUserName = 10175, HSCurlProxyPassword = 10176, HSCurlNoProxy = 10177,
  HSCurlInFileSize = 30115,
} HSCurlOption;

typedef enum HSCurlInfo { HSCurlConnectCode = 0x200016, HSCurlErrorNumber = 0x200019 } HSCurlInfo;

enum {
  HSCurlTLS12 = 6, HSCurlHTTP11 = 2, HSCurlHTTPAndHTTPS = 3,
  // As return values of callbacks.
  HSCurlPause = 0x10000001, HSCurlAbortReading = 0x10000000,
};

// Called with bytes received, or with room for bytes to send. Another value than the number of bytes taken ends the transfer.
typedef size_t (*HSCurlCallback)(char *bytes, size_t size, size_t count, void *context);
// Called when a connection is there, before the request is sent. The value is 0.
typedef int (*HSCurlReady)(void *context, char *remote, char *local, int remote_port, int local_port);

// Null if there is no such libcurl. It is used by one thread, but for `wake`.
void *handstamp_curl_multi(void);
// Returns after so many milliseconds, when a transfer or a timer needs attention, or when it is woken. Then does what is to do.
void handstamp_curl_wait(void *multi, int milliseconds);
void handstamp_curl_wake(void *multi);
// Returns a transfer that has ended, and its CURLcode; null if there is none.
void *handstamp_curl_ended(void *multi, int *code);
int handstamp_curl_add(void *multi, void *easy);
// Ends a transfer, and frees its memory.
void handstamp_curl_remove(void *multi, void *easy);

// A transfer of HTTP. Its sockets are closed in child processes. Libcurl calls `on_ready` from 7.80 on.
void *handstamp_curl_easy(
    void *context, HSCurlCallback on_header, HSCurlCallback on_body, HSCurlCallback on_read, HSCurlReady on_ready, int *tells_ready);
// These return a CURLcode, 0 for success. Texts are copied, `HSCurlErrorBuffer` and `HSCurlHTTPHeader` are not.
int handstamp_curl_number(void *easy, HSCurlOption option, long long value);
int handstamp_curl_text(void *easy, HSCurlOption option, const char *text);
int handstamp_curl_pointer(void *easy, HSCurlOption option, void *pointer);
long handstamp_curl_info(void *easy, HSCurlInfo info);
void handstamp_curl_resume(void *easy);
const char *handstamp_curl_words(int code);

// Appends a copy of a line to a list, which is null at first.
void *handstamp_curl_list(void *list, const char *line);
void handstamp_curl_free_list(void *list);

#endif
