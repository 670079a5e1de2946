#if !Server
// A helpful build error for packages that link HandstampSQLite without enabling the trait of the server.

@available(*, unavailable, message: "add traits: [\"Server\"] to the dependency on handstamp")
public enum SQLiteRegistryStore {}

@available(*, unavailable, message: "add traits: [\"Server\"] to the dependency on handstamp")
public enum ServerFolder {}
#endif
