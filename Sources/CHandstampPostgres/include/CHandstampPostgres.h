#ifndef CHANDSTAMP_POSTGRES_H
#define CHANDSTAMP_POSTGRES_H

#include <stddef.h>

// libpq 14 or later. It is looked for when it is needed: to link against it would need it wherever a server is built or runs, also where
// none uses PostgreSQL, and would make every start of the command slower.
//
// The functions and numbers are those of libpq's stable interface (libpq-fe.h), without the prefix PQ.

#pragma clang assume_nonnull begin

typedef struct pg_conn HSConnection;
typedef struct pg_result HSResult;

typedef struct HSNotify {
  char *channel;
  int process;
  char *payload;
} HSNotify;

typedef struct HSOption {
  char *_Nullable keyword;
  char *_Nullable environment;
  char *_Nullable compiled;
  char *_Nullable value;
  char *_Nullable label;
  char *_Nullable display;
  int size;
} HSOption;

static const int HSConnectionBad = 1;
static const int HSPollingFailed = 0, HSPollingReading = 1, HSPollingWriting = 2, HSPollingOK = 3;
static const int HSEmptyQuery = 0, HSCommandOK = 1, HSTuplesOK = 2, HSPipelineSync = 10, HSPipelineAborted = 11;
static const int HSErrorsVerbose = 2;

typedef struct HSLibrary {
  int (*_Nonnull libVersion)(void);
  HSOption *_Nullable (*_Nonnull conninfoParse)(const char *text, char *_Nullable *_Nullable error);
  void (*_Nonnull conninfoFree)(HSOption *options);
  HSConnection *_Nullable (*_Nonnull connectStartParams)(
    const char *_Nullable const *_Nonnull keywords, const char *_Nullable const *_Nonnull values, int expandsDatabase);
  int (*_Nonnull connectPoll)(HSConnection *connection);
  void (*_Nonnull finish)(HSConnection *connection);
  int (*_Nonnull status)(const HSConnection *connection);
  char *_Nonnull (*_Nonnull errorMessage)(const HSConnection *connection);
  int (*_Nonnull socket)(const HSConnection *connection);
  int (*_Nonnull backendPID)(const HSConnection *connection);
  int (*_Nonnull serverVersion)(const HSConnection *connection);
  const char *_Nullable (*_Nonnull parameterStatus)(const HSConnection *connection, const char *name);
  char *_Nullable (*_Nonnull host)(const HSConnection *connection);
  char *_Nullable (*_Nonnull port)(const HSConnection *connection);
  char *_Nullable (*_Nonnull db)(const HSConnection *connection);
  int (*_Nonnull setErrorVerbosity)(HSConnection *connection, int verbosity);
  void *_Nullable (*_Nonnull setNoticeReceiver)(
    HSConnection *connection, void (*_Nonnull receiver)(void *_Nullable context, const HSResult *result), void *_Nullable context);
  int (*_Nonnull setnonblocking)(HSConnection *connection, int isNonblocking);
  int (*_Nonnull enterPipelineMode)(HSConnection *connection);
  int (*_Nonnull pipelineSync)(HSConnection *connection);
  int (*_Nonnull sendPrepare)(HSConnection *connection, const char *name, const char *query, int count, const unsigned *_Nullable types);
  int (*_Nonnull sendQueryPrepared)(
    HSConnection *connection, const char *name, int count, const char *_Nullable const *_Nullable values, const int *_Nullable lengths,
    const int *_Nullable formats,
    int resultFormat);
  int (*_Nonnull sendQueryParams)(
    HSConnection *connection, const char *query, int count, const unsigned *_Nullable types, const char *_Nullable const *_Nullable values,
    const int *_Nullable lengths, const int *_Nullable formats, int resultFormat);
  int (*_Nonnull flush)(HSConnection *connection);
  int (*_Nonnull consumeInput)(HSConnection *connection);
  int (*_Nonnull isBusy)(HSConnection *connection);
  HSResult *_Nullable (*_Nonnull getResult)(HSConnection *connection);
  int (*_Nonnull resultStatus)(const HSResult *result);
  char *_Nullable (*_Nonnull resultErrorField)(const HSResult *result, int field);
  int (*_Nonnull ntuples)(const HSResult *result);
  int (*_Nonnull nfields)(const HSResult *result);
  char *_Nullable (*_Nonnull fname)(const HSResult *result, int column);
  char *_Nonnull (*_Nonnull getvalue)(const HSResult *result, int row, int column);
  int (*_Nonnull getlength)(const HSResult *result, int row, int column);
  unsigned (*_Nonnull ftype)(const HSResult *result, int column);
  int (*_Nonnull getisnull)(const HSResult *result, int row, int column);
  char *_Nonnull (*_Nonnull cmdStatus)(HSResult *result);
  char *_Nonnull (*_Nonnull cmdTuples)(HSResult *result);
  void (*_Nonnull clear)(HSResult *result);
  HSNotify *_Nullable (*_Nonnull notifies)(HSConnection *connection);
  void (*_Nonnull freemem)(void *memory);
} HSLibrary;

// Null if there is no libpq, or one without pipeline mode.
const HSLibrary *_Nullable handstamp_libpq(void);

#pragma clang assume_nonnull end

#endif
