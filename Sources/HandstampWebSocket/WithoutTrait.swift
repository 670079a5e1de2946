#if !WebSocket
// Turns a missing trait in a package that links HandstampWebSocket into a build error with the fix.

@available(*, unavailable, message: "add traits: [\"WebSocket\"] to the dependency on handstamp")
public enum WebSocketConnector {}
#endif
