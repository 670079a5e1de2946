#if !SQLite
// For a package that links HandstampSQLite and does not ask for its trait: a build error that says so.

@available(*, unavailable, message: "add traits: [\"SQLite\"] to the dependency on handstamp")
public enum SQLiteRegistryStore {}

@available(*, unavailable, message: "add traits: [\"SQLite\"] to the dependency on handstamp")
public enum ServerFolder {}
#endif
