#if !PostgreSQL
// A helpful build error for packages that link HandstampPostgres without enabling its trait.

@available(*, unavailable, message: "add traits: [\"PostgreSQL\"] to the dependency on handstamp")
public enum PostgresRegistryStore {}

@available(*, unavailable, message: "add traits: [\"PostgreSQL\"] to the dependency on handstamp")
public enum PostgresDatabase {}

@available(*, unavailable, message: "add traits: [\"PostgreSQL\"] to the dependency on handstamp")
public enum PostgresAddress {}
#endif
