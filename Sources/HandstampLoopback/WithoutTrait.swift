#if !LoopbackRedirect
// Turns a missing trait in a package that links HandstampLoopback into a build error with the fix.

@available(*, unavailable, message: "add traits: [\"LoopbackRedirect\"] to the dependency on handstamp")
public enum LoopbackReceiver {}
#endif
