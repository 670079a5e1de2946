#if Verifier
import HandstampCore
import HandstampSupport

/// Asks the server whether a token is active (RFC 7662), while the feed is lost.
struct Introspector: Sendable {
  let url: String
  let settings: FeedSettings
  let transport: any Transport

  /// - Throws: `sessionEnded` if the server says that a token which is valid by itself is not active;
  ///   `unavailable` unless it says that this very token is.
  func requireActive(_ token: String, _ identity: TokenIdentity) async throws(AccessError) {
    let response = try? await transport.send(
      TransportRequest(
        method: "POST", url: url,
        headers: [
          .basic(settings.clientID, settings.clientSecret), HeaderField("Accept", "application/json"),
          HeaderField("Content-Type", "application/x-www-form-urlencoded"),
        ], body: Array("token=\(PercentEncoding.encode(token))".utf8), timeout: .seconds(5),
        maximumResponseSize: 64 << 10))
    guard let response, response.status == 200, let json = JSONValue(response.body),
      case .bool(let isActive)? = json["active"]
    else { throw .unavailable(.introspection) }
    guard isActive else { throw .sessionEnded }
    guard json["sub"]?.string == identity.subject, json["jti"]?.string ?? identity.tokenID == identity.tokenID else {
      throw .unavailable(.introspection)
    }
  }
}
#endif
