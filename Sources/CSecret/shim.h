#ifndef HANDSTAMP_CSECRET_SHIM_H
#define HANDSTAMP_CSECRET_SHIM_H

#include <libsecret/secret.h>

// What Swift cannot import: macros, arrays of structs in constants, and functions with a variable number of arguments.

// Matches by attributes alone: with the schema's name, gnome-keyring answers "nothing" for an item that it has not unlocked
// since it was started.
static inline const SecretSchema *handstamp_schema(void) {
  static const SecretSchema schema = {
    .name = "org.handstamp.VaultKey",
    .flags = SECRET_SCHEMA_DONT_MATCH_NAME,
    .attributes = {
      { "handstamp-vault-key", SECRET_SCHEMA_ATTRIBUTE_STRING },
      { NULL, SECRET_SCHEMA_ATTRIBUTE_STRING },
    },
  };
  return &schema;
}

// To be freed with g_hash_table_unref.
static inline GHashTable *handstamp_attributes(const char *name) {
  GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  g_hash_table_insert(table, g_strdup("handstamp-vault-key"), g_strdup(name));
  return table;
}

// Whether an item has that attribute and no other but the schema's name: a search finds those that have more, too.
static inline gboolean handstamp_is_exact(SecretItem *item, const char *name) {
  GHashTable *table = secret_item_get_attributes(item);
  const char *found = g_hash_table_lookup(table, "handstamp-vault-key");
  guint others = g_hash_table_contains(table, "xdg:schema") ? 1 : 0;
  gboolean exact = found != NULL && strcmp(found, name) == 0 && g_hash_table_size(table) == 1 + others;
  g_hash_table_unref(table);
  return exact;
}

// The session bus, which must not end the process when it goes away, as GIO's does by default.
static inline gboolean handstamp_open_bus(GCancellable *cancellable, GError **error) {
  GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, cancellable, error);
  if (bus == NULL) return FALSE;
  g_dbus_connection_set_exit_on_close(bus, FALSE);
  g_object_unref(bus);
  return TRUE;
}

static inline gboolean handstamp_is_locked_error(const GError *error) {
  return g_error_matches(error, SECRET_ERROR, SECRET_ERROR_IS_LOCKED);
}

static inline gboolean handstamp_is_cancelled_error(const GError *error) {
  return g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static inline void handstamp_unref_all(GList *objects) { g_list_free_full(objects, g_object_unref); }

#endif
