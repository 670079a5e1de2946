#ifndef CHANDSTAMP_POSTGRES_H
#define CHANDSTAMP_POSTGRES_H

#include <stddef.h>

// libpq 14 or later. It is looked for when it is needed: to link against it would need it wherever a server is built or runs, also where
// none uses PostgreSQL, and would make every start of the command slower.
//
// The functions and numbers are those of libpq's stable interface (libpq-fe.h), without the prefix PQ.

#pragma clang assume_nonnull begin

typedef struct pg_conn HSPostgresConnection;
typedef struct pg_result HSPostgresResult;

typedef struct HSPostgresNotify {
  char *channel;
  int process;
  char *payload;
} HSPostgresNotify;

typedef struct HSPostgresOption {
  char *_Nullable keyword;
  char *_Nullable environment;
  char *_Nullable compiled;
  char *_Nullable value;
  char *_Nullable label;
  char *_Nullable display;
  int size;
} HSPostgresOption;

static const int HSConnectionBad = 1;
static const int HSPollingFailed = 0, HSPollingReading = 1, HSPollingWriting = 2, HSPollingOK = 3;
static const int HSEmptyQuery = 0, HSCommandOK = 1, HSTuplesOK = 2, HSPipelineSync = 10, HSPipelineAborted = 11;
static const int HSErrorsVerbose = 2;

typedef struct HSPostgres {
  int (*_Nonnull libVersion)(void);
  HSPostgresOption *_Nullable (*_Nonnull conninfoParse)(const char *text, char *_Nullable *_Nullable error);
  void (*_Nonnull conninfoFree)(HSPostgresOption *options);
  HSPostgresConnection *_Nullable (*_Nonnull connectStartParams)(
    const char *_Nullable const *_Nonnull keywords, const char *_Nullable const *_Nonnull values, int expandsDatabase);
  int (*_Nonnull connectPoll)(HSPostgresConnection *connection);
  void (*_Nonnull finish)(HSPostgresConnection *connection);
  int (*_Nonnull status)(const HSPostgresConnection *connection);
  char *_Nonnull (*_Nonnull errorMessage)(const HSPostgresConnection *connection);
  int (*_Nonnull socket)(const HSPostgresConnection *connection);
  int (*_Nonnull backendPID)(const HSPostgresConnection *connection);
  int (*_Nonnull serverVersion)(const HSPostgresConnection *connection);
  const char *_Nullable (*_Nonnull parameterStatus)(const HSPostgresConnection *connection, const char *name);
  char *_Nullable (*_Nonnull host)(const HSPostgresConnection *connection);
  char *_Nullable (*_Nonnull port)(const HSPostgresConnection *connection);
  char *_Nullable (*_Nonnull db)(const HSPostgresConnection *connection);
  int (*_Nonnull setErrorVerbosity)(HSPostgresConnection *connection, int verbosity);
  void *_Nullable (*_Nonnull setNoticeReceiver)(
    HSPostgresConnection *connection, void (*_Nonnull receiver)(void *_Nullable context, const HSPostgresResult *result), void *_Nullable context);
  int (*_Nonnull setnonblocking)(HSPostgresConnection *connection, int isNonblocking);
  int (*_Nonnull enterPipelineMode)(HSPostgresConnection *connection);
  int (*_Nonnull pipelineSync)(HSPostgresConnection *connection);
  int (*_Nonnull sendPrepare)(HSPostgresConnection *connection, const char *name, const char *query, int count, const unsigned *_Nullable types);
  int (*_Nonnull sendQueryPrepared)(
    HSPostgresConnection *connection, const char *name, int count, const char *_Nullable const *_Nullable values, const int *_Nullable lengths,
    const int *_Nullable formats,
    int resultFormat);
  int (*_Nonnull sendQueryParams)(
    HSPostgresConnection *connection, const char *query, int count, const unsigned *_Nullable types, const char *_Nullable const *_Nullable values,
    const int *_Nullable lengths, const int *_Nullable formats, int resultFormat);
  int (*_Nonnull flush)(HSPostgresConnection *connection);
  int (*_Nonnull consumeInput)(HSPostgresConnection *connection);
  int (*_Nonnull isBusy)(HSPostgresConnection *connection);
  HSPostgresResult *_Nullable (*_Nonnull getResult)(HSPostgresConnection *connection);
  int (*_Nonnull resultStatus)(const HSPostgresResult *result);
  char *_Nullable (*_Nonnull resultErrorField)(const HSPostgresResult *result, int field);
  int (*_Nonnull ntuples)(const HSPostgresResult *result);
  int (*_Nonnull nfields)(const HSPostgresResult *result);
  char *_Nullable (*_Nonnull fname)(const HSPostgresResult *result, int column);
  char *_Nonnull (*_Nonnull getvalue)(const HSPostgresResult *result, int row, int column);
  int (*_Nonnull getlength)(const HSPostgresResult *result, int row, int column);
  unsigned (*_Nonnull ftype)(const HSPostgresResult *result, int column);
  int (*_Nonnull getisnull)(const HSPostgresResult *result, int row, int column);
  char *_Nonnull (*_Nonnull cmdStatus)(HSPostgresResult *result);
  char *_Nonnull (*_Nonnull cmdTuples)(HSPostgresResult *result);
  void (*_Nonnull clear)(HSPostgresResult *result);
  HSPostgresNotify *_Nullable (*_Nonnull notifies)(HSPostgresConnection *connection);
  void (*_Nonnull freemem)(void *memory);
} HSPostgres;

// Null if there is no libpq, or one without pipeline mode.
const HSPostgres *_Nullable handstamp_libpq(void);

#pragma clang assume_nonnull end

#endif
