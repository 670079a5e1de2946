public import HandstampCore

/// Invalid responses, as sent by proxies, captive portals, gateways and half-broken servers.
public enum Garbage {
  /// The responses, each with a name for messages. None of them may end a session or count as new tokens.
  public static let responses: [(name: String, response: TransportResponse)] = ofIntermediaries + ofServers

  /// Those that something in front of a server gives, whatever the server's protocol is.
  static let ofIntermediaries: [(name: String, response: TransportResponse)] = [
    ("an empty 200", .init(status: 200)),
    ("a captive portal", html(200)),
    ("a gateway's 400", html(400)),
    ("a login page's 401", html(401)),
    ("a bare 401", .init(status: 401)),
    ("a 401 without a code", json(401, "{}")),
    ("a 502", html(502)),
    ("a 302", .init(status: 302, headers: [HeaderField("Location", "https://portal.example/")])),
    ("a 429", json(429, #"{"error":"slow_down"}"#)),
    ("a 503", .init(status: 503, headers: [HeaderField("Retry-After", "7")])),
  ]

  /// Those of a server with RFC 6749's token endpoint, or of something that speaks like one.
  private static let ofServers: [(name: String, response: TransportResponse)] = [
    ("a 500 that says invalid_grant", json(500, #"{"error":"invalid_grant"}"#)),
    ("a 404 that says invalid_grant", json(404, #"{"error":"invalid_grant"}"#)),
    ("a page that says invalid_grant", .init(status: 400, body: Array("invalid_grant".utf8))),
    ("half of a refusal", json(400, #"{"error":"invalid_gra"#)),
    ("a refusal within an array", json(400, #"[{"error":"invalid_grant"}]"#)),
    ("a refusal of the client", json(401, #"{"error":"invalid_client"}"#)),
    ("a refusal of the request", json(400, #"{"error":"invalid_request"}"#)),
    ("an unknown refusal", json(400, #"{"error":"project_not_specified"}"#)),
    ("an empty object", json(200, "{}")),
    ("tokens of other types", json(200, #"{"access_token":7,"refresh_token":[],"token_type":"Bearer"}"#)),
    ("half of a response", json(200, #"{"access_token":"a","token_type":"Bea"#)),
    ("an empty token", json(200, #"{"access_token":"","refresh_token":"","token_type":"Bearer"}"#)),
  ]

  static func html(_ status: Int) -> TransportResponse {
    .init(
      status: status, headers: [HeaderField("Content-Type", "text/html")],
      body: Array("<!doctype html><title>Welcome</title>".utf8))
  }

  static func json(_ status: Int, _ text: String) -> TransportResponse {
    .init(status: status, headers: [HeaderField("Content-Type", "application/json")], body: Array(text.utf8))
  }
}
