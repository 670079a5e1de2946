// Turns a missing trait in a package that links HandstampVerifier into a build error with the fix.

#if !Verifier
@available(*, unavailable, message: "add traits: [\"Verifier\"] to the dependency on handstamp")
public enum TokenVerifier {}
#endif

#if !Middleware
@available(*, unavailable, message: "add traits: [\"Middleware\"] to the dependency on handstamp")
public enum IdentityMiddleware {}
#endif
