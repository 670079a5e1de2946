#if !Verifier
// Turns a missing trait in a package that links HandstampVerifier into a build error with the fix.

@available(*, unavailable, message: "add traits: [\"Verifier\"] to the dependency on handstamp")
public enum TokenVerifier {}

@available(*, unavailable, message: "add traits: [\"Verifier\"] to the dependency on handstamp")
public enum IdentityMiddleware {}
#endif
