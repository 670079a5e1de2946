#if !Data
// For a package that links HandstampData and does not ask for its trait: a build error that says so.

@available(*, unavailable, message: "add traits: [\"Data\"] to the dependency on handstamp")
public enum DataStore {}
#endif
