#ifndef CHANDSTAMP_SECRET_H
#define CHANDSTAMP_SECRET_H

#include <stddef.h>
#include <stdint.h>

// The parts of libsecret 0.18 and later, and of its GLib, that are used. The library is looked for when it is needed: to link
// against it would cost every program some milliseconds at its start, and need it wherever one is built or runs.
// The declarations are those of its stable interface (libsecret-1.so.0).

typedef struct HSService HSService;
typedef struct HSItem HSItem;
typedef struct HSCollection HSCollection;
typedef struct HSValue HSValue;
typedef struct HSCancellable HSCancellable;
typedef struct HSTable HSTable;

// GList
typedef struct HSList {
  void *data;
  struct HSList *next;
  struct HSList *prev;
} HSList;

// GError
typedef struct HSError {
  uint32_t domain;
  int code;
  const char *message;
} HSError;

typedef HSError **HSErrors;

typedef struct HSLibrary {
  HSService *(*secret_service_get_sync)(int flags, HSCancellable *, HSErrors);
  HSList *(*secret_service_search_sync)(
    HSService *, const void *schema, HSTable *attributes, int flags, HSCancellable *, HSErrors);
  int (*secret_service_store_sync)(
    HSService *, const void *schema, HSTable *attributes, const char *collection, const char *label, HSValue *,
    HSCancellable *, HSErrors);
  int (*secret_service_lock_sync)(
    HSService *, HSList *objects, HSCancellable *, HSList **, HSErrors);
  int (*secret_service_unlock_sync)(
    HSService *, HSList *objects, HSCancellable *, HSList **, HSErrors);
  HSCollection *(*secret_collection_for_alias_sync)(
    HSService *, const char *alias, int flags, HSCancellable *, HSErrors);
  int (*secret_collection_get_locked)(HSCollection *);
  int (*secret_item_get_locked)(HSItem *);
  int (*secret_item_load_secret_sync)(HSItem *, HSCancellable *, HSErrors);
  HSValue *(*secret_item_get_secret)(HSItem *);
  HSTable *(*secret_item_get_attributes)(HSItem *);
  int (*secret_item_delete_sync)(HSItem *, HSCancellable *, HSErrors);
  HSValue *(*secret_value_new)(const char *bytes, ptrdiff_t count, const char *type);
  const char *(*secret_value_get)(HSValue *, size_t *count);
  void (*secret_value_unref)(HSValue *);
  uint32_t (*secret_error_get_quark)(void);
  HSTable *(*g_hash_table_new_full)(
    const void *hash, const void *equal, const void *freeKey, const void *freeValue);
  int (*g_hash_table_insert)(HSTable *, void *key, void *value);
  void *(*g_hash_table_lookup)(HSTable *, const void *key);
  unsigned (*g_hash_table_size)(HSTable *);
  void (*g_hash_table_unref)(HSTable *);
  char *(*g_strdup)(const char *);
  const void *g_str_hash, *g_str_equal, *g_free;
  void (*g_list_free_full)(HSList *, const void *free);
  const void *g_object_unref_function;
  void (*g_object_unref)(void *);
  void (*g_clear_error)(HSErrors);
  uint32_t (*g_io_error_quark)(void);
  HSCancellable *(*g_cancellable_new)(void);
  void (*g_cancellable_cancel)(HSCancellable *);
  void *(*g_bus_get_sync)(int type, HSCancellable *, HSErrors);
  void (*g_dbus_connection_set_exit_on_close)(void *connection, int exits);
} HSLibrary;

// Where everything in it was found; nothing where the library is missing.
const HSLibrary *handstamp_secret_library(void);

// The schema of our items. It matches by attributes alone, because with its name gnome-keyring answers "nothing" for an item
// that it has not unlocked since it was started.
extern const void *const handstamp_secret_schema;
extern const char *const handstamp_secret_attribute;

#endif
