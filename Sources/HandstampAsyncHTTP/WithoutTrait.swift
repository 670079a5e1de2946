#if !AsyncHTTPClient
// For a package that links HandstampAsyncHTTP and does not ask for its trait: a build error that says so.

@available(*, unavailable, message: "add traits: [\"AsyncHTTPClient\"] to the dependency on handstamp")
public enum AsyncHTTPTransport {}
#endif
