#if !WebSocket
// For a package that links HandstampWebSocket and does not ask for its trait: a build error that says so.

@available(*, unavailable, message: "add traits: [\"WebSocket\"] to the dependency on handstamp")
public enum WebSocketConnector {}
#endif
