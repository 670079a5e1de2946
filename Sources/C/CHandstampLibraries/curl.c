#include "CHandstampCurl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// The names and numbers are those of libcurl's stable interface (curl/curl.h).
typedef void CURL;
typedef void CURLM;
struct curl_slist;
struct curl_sockaddr {
  int family, type, protocol;
};
struct CURLMsg {
  int message;
  CURL *handle;
  union {
    void *any;
    int code;
  } data;
};

enum {
  CURLOPT_USE_SSL = 119, CURLOPT_UPLOAD = 46, CURLOPT_NOSIGNAL = 99, CURLOPT_NOPROGRESS = 43, CURLOPT_SSLVERSION = 32,
  CURLOPT_TIMEOUT_MS = 155, CURLOPT_CONNECTTIMEOUT_MS = 156,
  CURLOPT_URL = 10002, CURLOPT_PROXY = 10004, CURLOPT_READDATA = 10009, CURLOPT_ERRORBUFFER = 10010, CURLOPT_HEADERDATA = 10029,
  CURLOPT_XFERINFODATA = 10057, CURLOPT_CAINFO = 10065, CURLOPT_USERNAME = 10173, CURLOPT_PASSWORD = 10174, CURLOPT_MAIL_FROM = 10186,
  CURLOPT_MAIL_RCPT = 10187,
  CURLOPT_READFUNCTION = 20012, CURLOPT_HEADERFUNCTION = 20079, CURLOPT_XFERINFOFUNCTION = 20219,
  CURLOPT_WRITEDATA = 10001, CURLOPT_PREREQDATA = 10313,
  CURLOPT_WRITEFUNCTION = 20011, CURLOPT_OPENSOCKETFUNCTION = 20163, CURLOPT_PREREQFUNCTION = 20312,
  CURLMSG_DONE = 1, CURLPAUSE_CONT = 0,
  CURLUSESSL_NONE = 0, CURLUSESSL_ALL = 3, CURL_SSLVERSION_TLSv1_2 = 6, CURL_GLOBAL_DEFAULT = 3,
  CURLE_OK = 0, CURLE_OPERATION_TIMEDOUT = 28,
};

static struct {
  int (*global_init)(long);
  CURL *(*init)(void);
  int (*setopt)(CURL *, int option, ...);
  int (*perform)(CURL *);
  void (*cleanup)(CURL *);
  const char *(*strerror)(int);
  struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
  void (*slist_free_all)(struct curl_slist *);
  // Those of requests.
  int (*getinfo)(CURL *, int info, ...);
  int (*pause)(CURL *, int actions);
  CURLM *(*multi_init)(void);
  int (*multi_add_handle)(CURLM *, CURL *);
  int (*multi_remove_handle)(CURLM *, CURL *);
  int (*multi_perform)(CURLM *, int *running);
  int (*multi_poll)(CURLM *, void *more, unsigned count, int milliseconds, int *ready);
  int (*multi_wakeup)(CURLM *);
  struct CURLMsg *(*multi_info_read)(CURLM *, int *left);
} curl;
static int is_loaded, has_multi;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#ifdef __APPLE__
  void *handle = dlopen("/usr/lib/libcurl.4.dylib", RTLD_NOW | RTLD_LOCAL);
#else
  void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
#endif
  if (!handle) return;
#define FIND(place, name) \
  if (!(*(void **)&curl.place = dlsym(handle, #name))) return
  FIND(global_init, curl_global_init);
  FIND(init, curl_easy_init);
  FIND(setopt, curl_easy_setopt);
  FIND(perform, curl_easy_perform);
  FIND(cleanup, curl_easy_cleanup);
  FIND(strerror, curl_easy_strerror);
  FIND(slist_append, curl_slist_append);
  FIND(slist_free_all, curl_slist_free_all);
  is_loaded = curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  FIND(getinfo, curl_easy_getinfo);
  FIND(pause, curl_easy_pause);
  FIND(multi_init, curl_multi_init);
  FIND(multi_add_handle, curl_multi_add_handle);
  FIND(multi_remove_handle, curl_multi_remove_handle);
  FIND(multi_perform, curl_multi_perform);
  FIND(multi_poll, curl_multi_poll);
  FIND(multi_wakeup, curl_multi_wakeup);
  FIND(multi_info_read, curl_multi_info_read);
#undef FIND
  has_multi = is_loaded;
}

// The state of a conversation, as the server's replies tell it.
struct conversation {
  const HSMail *mail;
  size_t sent;
  // Greetings, with that after STARTTLS, until the reply to the last EHLO, which lists what the server can do.
  int greetings_left;
  int has_utf8;
  // Replies 250 after that: to the sender, the recipient, the mail.
  int accepted;
  long reply;
};

static size_t on_read(char *buffer, size_t size, size_t count, void *context) {
  struct conversation *talk = context;
  size_t left = talk->mail->count - talk->sent, room = size * count, next = left < room ? left : room;
  memcpy(buffer, talk->mail->text + talk->sent, next);
  talk->sent += next;
  return next;
}

// Called with each line of a reply. Returning another number than the bytes taken ends the conversation.
static size_t on_reply(char *line, size_t size, size_t count, void *context) {
  struct conversation *talk = context;
  size_t length = size * count;
  char text[80] = {0};
  memcpy(text, line, length < sizeof text - 1 ? length : sizeof text - 1);
  char *end = NULL;
  long code = strtol(text, &end, 10);
  if (end != text + 3) return length;
  int is_last = *end != '-';
  // 221 is the farewell, which follows a refusal too.
  if (is_last && code != 221) talk->reply = code;
  if (code == 220 && is_last) talk->greetings_left--;
  if (code != 250 || talk->greetings_left > 0) return length;
  if (talk->greetings_left == 0) {
    if (!strncasecmp(end + 1, "SMTPUTF8", 8)) talk->has_utf8 = 1;
    if (is_last) {
      talk->greetings_left = -1;
      if (talk->mail->needs_utf8 && !talk->has_utf8) return 0;
    }
  } else if (is_last) {
    talk->accepted++;
  }
  return length;
}

static int on_progress(void *context, long long a, long long b, long long c, long long d) {
  const struct conversation *talk = context;
  return talk->mail->is_cancelled(talk->mail->context);
}

static HSMailEnd end_of(const struct conversation *talk, int code) {
  if (code == CURLE_OK) return HSMailSent;
  if (code == CURLE_OPERATION_TIMEDOUT) return HSMailTimedOut;
  if (talk->greetings_left < 0 && talk->mail->needs_utf8 && !talk->has_utf8) return HSMailNoUTF8;
  return talk->accepted > 0 && talk->reply >= 400 ? HSMailRefused : HSMailFailed;
}

void handstamp_curl_send(const HSMail *mail, HSMailOutcome *outcome) {
  memset(outcome, 0, sizeof *outcome);
  outcome->end = HSMailNoLibrary;
  // A server that closes the connection must not end the process, whatever library for TLS it writes with.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  pthread_once(&once, load);
  if (!is_loaded) return;
  CURL *handle = curl.init();
  struct curl_slist *recipients = curl.slist_append(NULL, mail->to);
  char words[256] = {0};  // CURL_ERROR_SIZE
  int is_encrypted = !strncmp(mail->url, "smtps:", 6);
  struct conversation talk = {.mail = mail, .greetings_left = is_encrypted || !mail->requires_tls ? 1 : 2};
  if (handle && recipients) {
    int code = 0;
#define SET(option, value) \
  if (!code) code = curl.setopt(handle, CURLOPT_##option, value)
    SET(URL, mail->url);
    SET(USE_SSL, (long)(mail->requires_tls ? CURLUSESSL_ALL : CURLUSESSL_NONE));
    SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (mail->ca_file) SET(CAINFO, mail->ca_file);
    if (mail->user) SET(USERNAME, mail->user);
    if (mail->password) SET(PASSWORD, mail->password);
    SET(MAIL_FROM, mail->from);
    SET(MAIL_RCPT, recipients);
    SET(UPLOAD, 1L);
    SET(READFUNCTION, on_read);
    SET(READDATA, (void *)&talk);
    SET(HEADERFUNCTION, on_reply);
    SET(HEADERDATA, (void *)&talk);
    SET(XFERINFOFUNCTION, on_progress);
    SET(XFERINFODATA, (void *)&talk);
    SET(NOPROGRESS, 0L);
    SET(ERRORBUFFER, (char *)words);
    // Not by the proxies that the environment names.
    SET(PROXY, "");
    SET(NOSIGNAL, 1L);
    SET(CONNECTTIMEOUT_MS, mail->connect_milliseconds);
    SET(TIMEOUT_MS, mail->milliseconds);
#undef SET
    if (!code) code = curl.perform(handle);
    outcome->end = end_of(&talk, code);
    outcome->reply = talk.reply;
    snprintf(outcome->words, sizeof outcome->words, "%s", words[0] ? words : curl.strerror(code));
  }
  if (recipients) curl.slist_free_all(recipients);
  if (handle) curl.cleanup(handle);
}

void *handstamp_curl_multi(void) {
  pthread_once(&once, load);
  return has_multi ? curl.multi_init() : NULL;
}

void handstamp_curl_wait(void *multi, int milliseconds) {
  int count = 0;
  curl.multi_poll(multi, NULL, 0, milliseconds, &count);
  curl.multi_perform(multi, &count);
}

void handstamp_curl_wake(void *multi) { curl.multi_wakeup(multi); }

void *handstamp_curl_ended(void *multi, int *code) {
  int left = 0;
  for (struct CURLMsg *message; (message = curl.multi_info_read(multi, &left));) {
    if (message->message != CURLMSG_DONE) continue;
    *code = message->data.code;
    return message->handle;
  }
  return NULL;
}

int handstamp_curl_add(void *multi, void *easy) { return curl.multi_add_handle(multi, easy); }

void handstamp_curl_remove(void *multi, void *easy) {
  curl.multi_remove_handle(multi, easy);
  curl.cleanup(easy);
}

static int open_socket(void *context, int purpose, struct curl_sockaddr *address) {
#ifdef SOCK_CLOEXEC
  return socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
#else
  int result = socket(address->family, address->type, address->protocol);
  if (result >= 0) fcntl(result, F_SETFD, FD_CLOEXEC);
  return result;
#endif
}

void *handstamp_curl_easy(
    void *context, HSCurlCallback on_header, HSCurlCallback on_body, HSCurlCallback on_read, HSCurlReady on_ready, int *tells_ready) {
  CURL *easy = curl.init();
  if (!easy) return NULL;
  int code = curl.setopt(easy, CURLOPT_HEADERDATA, context);
  if (!code) code = curl.setopt(easy, CURLOPT_WRITEDATA, context);
  if (!code) code = curl.setopt(easy, CURLOPT_READDATA, context);
  if (!code) code = curl.setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  if (!code) code = curl.setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  if (!code) code = curl.setopt(easy, CURLOPT_READFUNCTION, on_read);
  if (!code) code = curl.setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  if (code) {
    curl.cleanup(easy);
    return NULL;
  }
  *tells_ready = !curl.setopt(easy, CURLOPT_PREREQDATA, context) && !curl.setopt(easy, CURLOPT_PREREQFUNCTION, on_ready);
  return easy;
}

int handstamp_curl_number(void *easy, HSCurlOption option, long long value) {
  return option < 30000 ? curl.setopt(easy, option, (long)value) : curl.setopt(easy, option, value);
}

int handstamp_curl_text(void *easy, HSCurlOption option, const char *text) { return curl.setopt(easy, option, text); }

int handstamp_curl_pointer(void *easy, HSCurlOption option, void *pointer) { return curl.setopt(easy, option, pointer); }

long handstamp_curl_info(void *easy, HSCurlInfo info) {
  long value = 0;
  return curl.getinfo(easy, info, &value) ? 0 : value;
}

void handstamp_curl_resume(void *easy) { curl.pause(easy, CURLPAUSE_CONT); }

const char *handstamp_curl_words(int code) { return curl.strerror(code); }

void *handstamp_curl_list(void *list, const char *line) {
  struct curl_slist *result = curl.slist_append(list, line);
  return result ? result : list;
}

void handstamp_curl_free_list(void *list) { curl.slist_free_all(list); }
