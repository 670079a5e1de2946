#if !Middleware
// A helpful build error for packages that link HandstampHummingbird without enabling its trait.

@available(*, unavailable, message: "add traits: [\"Middleware\"] to the dependency on handstamp")
public enum IdentityMiddleware {}
#endif
