#if !AsyncHTTPClient
// Turns a missing trait in a package that links HandstampAsyncHTTP into a build error with the fix.

@available(*, unavailable, message: "add traits: [\"AsyncHTTPClient\"] to the dependency on handstamp")
public enum AsyncHTTPTransport {}
#endif
