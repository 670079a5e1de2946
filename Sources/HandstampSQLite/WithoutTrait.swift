#if !SQLite
// A helpful build error for packages that link HandstampSQLite without enabling its trait.

@available(*, unavailable, message: "add traits: [\"SQLite\"] to the dependency on handstamp")
public enum SQLiteRegistryStore {}

@available(*, unavailable, message: "add traits: [\"SQLite\"] to the dependency on handstamp")
public enum ServerFolder {}
#endif
