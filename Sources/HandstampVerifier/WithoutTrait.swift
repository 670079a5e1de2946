#if !Verifier
// A helpful build error for packages that link HandstampVerifier without enabling its trait.

@available(*, unavailable, message: "add traits: [\"Verifier\"] to the dependency on handstamp")
public enum TokenVerifier {}
#endif
