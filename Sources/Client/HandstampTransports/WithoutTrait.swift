// Turns a missing trait in a package that links HandstampTransports into a build error with the fix.

#if !AsyncHTTPClient
@available(*, unavailable, message: "add traits: [\"AsyncHTTPClient\"] to the dependency on handstamp")
public enum AsyncHTTPTransport {}
#endif

#if !LoopbackRedirect
@available(*, unavailable, message: "add traits: [\"LoopbackRedirect\"] to the dependency on handstamp")
public enum LoopbackReceiver {}
#endif

#if !WebSocket
@available(*, unavailable, message: "add traits: [\"WebSocket\"] to the dependency on handstamp")
public enum WebSocketConnector {}
#endif
