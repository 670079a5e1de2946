#include "CHandstampPostgres.h"

#include <dlfcn.h>
#include <pthread.h>

static HSPostgres library;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *opened(void) {
#ifdef __APPLE__
  // Homebrew's folders are not among those that are searched.
  const char *names[] = {
    "libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib", "/usr/local/opt/libpq/lib/libpq.5.dylib",
  };
#else
  const char *names[] = {"libpq.so.5"};
#endif
  for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
    void *handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (handle) return handle;
  }
  return NULL;
}

static void load(void) {
  void *handle = opened();
  if (!handle) return;
#define FIND(name) \
  if (!(*(void **)&library.name = dlsym(handle, "PQ" #name))) return
  FIND(libVersion);
  FIND(conninfoParse);
  FIND(conninfoFree);
  FIND(connectStartParams);
  FIND(connectPoll);
  FIND(finish);
  FIND(status);
  FIND(errorMessage);
  FIND(socket);
  FIND(backendPID);
  FIND(serverVersion);
  FIND(parameterStatus);
  FIND(host);
  FIND(port);
  FIND(db);
  FIND(setErrorVerbosity);
  FIND(setNoticeReceiver);
  FIND(setnonblocking);
  FIND(enterPipelineMode);
  FIND(pipelineSync);
  FIND(sendPrepare);
  FIND(sendQueryPrepared);
  FIND(sendQueryParams);
  FIND(flush);
  FIND(consumeInput);
  FIND(isBusy);
  FIND(getResult);
  FIND(resultStatus);
  FIND(resultErrorField);
  FIND(ntuples);
  FIND(nfields);
  FIND(fname);
  FIND(getvalue);
  FIND(getlength);
  FIND(ftype);
  FIND(getisnull);
  FIND(cmdStatus);
  FIND(cmdTuples);
  FIND(clear);
  FIND(notifies);
  FIND(freemem);
#undef FIND
  is_loaded = 1;
}

const HSPostgres *handstamp_libpq(void) {
  pthread_once(&once, load);
  return is_loaded ? &library : NULL;
}
