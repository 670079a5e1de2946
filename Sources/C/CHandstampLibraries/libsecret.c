#include "CHandstampSecret.h"

#include <dlfcn.h>
#include <pthread.h>

// SecretSchema
struct schema {
  const char *name;
  int flags;
  struct {
    const char *name;
    int type;
  } attributes[32];
  int reserved;
  void *reserved_pointers[7];
};

static const struct schema schema = {
  .name = "org.handstamp.VaultKey",
  .flags = 1 << 1,  // SECRET_SCHEMA_DONT_MATCH_NAME
  .attributes = {{"handstamp-vault-key", 0}},
};

const void *const handstamp_secret_schema = &schema;
const char *const handstamp_secret_attribute = "handstamp-vault-key";

static HSLibrary library;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  void *handle = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return;
  // A symbol is looked for in what the library depends on, too.
#define FIND(place, name) \
  if (!(*(void **)&library.place = dlsym(handle, #name))) return
  FIND(secret_service_get_sync, secret_service_get_sync);
  FIND(secret_service_search_sync, secret_service_search_sync);
  FIND(secret_service_store_sync, secret_service_store_sync);
  FIND(secret_service_lock_sync, secret_service_lock_sync);
  FIND(secret_service_unlock_sync, secret_service_unlock_sync);
  FIND(secret_collection_for_alias_sync, secret_collection_for_alias_sync);
  FIND(secret_collection_get_locked, secret_collection_get_locked);
  FIND(secret_item_get_locked, secret_item_get_locked);
  FIND(secret_item_load_secret_sync, secret_item_load_secret_sync);
  FIND(secret_item_get_secret, secret_item_get_secret);
  FIND(secret_item_get_attributes, secret_item_get_attributes);
  FIND(secret_item_delete_sync, secret_item_delete_sync);
  FIND(secret_value_new, secret_value_new);
  FIND(secret_value_get, secret_value_get);
  FIND(secret_value_unref, secret_value_unref);
  FIND(secret_error_get_quark, secret_error_get_quark);
  FIND(g_hash_table_new_full, g_hash_table_new_full);
  FIND(g_hash_table_insert, g_hash_table_insert);
  FIND(g_hash_table_lookup, g_hash_table_lookup);
  FIND(g_hash_table_size, g_hash_table_size);
  FIND(g_hash_table_unref, g_hash_table_unref);
  FIND(g_strdup, g_strdup);
  FIND(g_str_hash, g_str_hash);
  FIND(g_str_equal, g_str_equal);
  FIND(g_free, g_free);
  FIND(g_list_free_full, g_list_free_full);
  FIND(g_object_unref_function, g_object_unref);
  FIND(g_object_unref, g_object_unref);
  FIND(g_clear_error, g_clear_error);
  FIND(g_io_error_quark, g_io_error_quark);
  FIND(g_cancellable_new, g_cancellable_new);
  FIND(g_cancellable_cancel, g_cancellable_cancel);
  FIND(g_bus_get_sync, g_bus_get_sync);
  FIND(g_dbus_connection_set_exit_on_close, g_dbus_connection_set_exit_on_close);
#undef FIND
  is_loaded = 1;
}

const HSLibrary *handstamp_secret_library(void) {
  pthread_once(&once, load);
  return is_loaded ? &library : NULL;
}
