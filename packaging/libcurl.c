// In place of libcurl in `handstamp` as it is distributed. Foundation's URLSession is linked to libcurl, whether a program has a URLSession or not, and
// the loader would map libcurl and the 28 libraries that it needs each time the command starts. Its requests are AsyncHTTPClient's. If it had a
// URLSession, requests would fail: a pointer is NULL, a code is CURLE_FAILED_INIT. Names and numbers are those of curl/curl.h.
#define MISSING(name) \
  void *name(void); \
  void *name(void) { return 0; }
#define FAILING(name) \
  int name(void); \
  int name(void) { return 2; }

MISSING(curl_easy_cleanup)
MISSING(curl_easy_init)
MISSING(curl_easy_strerror)
MISSING(curl_free)
MISSING(curl_multi_info_read)
MISSING(curl_multi_init)
MISSING(curl_slist_append)
MISSING(curl_slist_free_all)
MISSING(curl_url)
MISSING(curl_version)
MISSING(curl_version_info)
FAILING(curl_easy_getinfo)
FAILING(curl_easy_pause)
FAILING(curl_easy_setopt)
FAILING(curl_global_init)
FAILING(curl_multi_add_handle)
FAILING(curl_multi_assign)
FAILING(curl_multi_cleanup)
FAILING(curl_multi_remove_handle)
FAILING(curl_multi_setopt)
FAILING(curl_multi_socket_action)
FAILING(curl_url_get)
FAILING(curl_url_set)
