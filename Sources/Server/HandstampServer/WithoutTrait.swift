#if !Server
// A helpful build error for packages that link HandstampServer without enabling its trait.

@available(*, unavailable, message: "add traits: [\"Server\"] to the dependency on handstamp")
public enum SessionServer {}

@available(*, unavailable, message: "add traits: [\"Server\"] to the dependency on handstamp")
public enum ServerConfiguration {}
#endif
