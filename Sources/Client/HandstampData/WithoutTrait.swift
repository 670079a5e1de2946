#if !Data
// Turns a missing trait in a package that links HandstampData into a build error with the fix.

@available(*, unavailable, message: "add traits: [\"Data\"] to the dependency on handstamp")
public enum DataStore {}
#endif
