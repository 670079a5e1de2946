#if !Server
// For a package that links HandstampServer and does not ask for its trait: a build error that says so.

@available(*, unavailable, message: "add traits: [\"Server\"] to the dependency on handstamp")
public enum SessionServer {}

@available(*, unavailable, message: "add traits: [\"Server\"] to the dependency on handstamp")
public enum ServerConfiguration {}
#endif
