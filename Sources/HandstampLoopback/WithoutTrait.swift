#if !LoopbackRedirect
// For a package that links HandstampLoopback and does not ask for its trait: a build error that says so.

@available(*, unavailable, message: "add traits: [\"LoopbackRedirect\"] to the dependency on handstamp")
public enum LoopbackReceiver {}
#endif
