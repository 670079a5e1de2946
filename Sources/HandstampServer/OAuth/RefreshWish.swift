#if Server
import HandstampRegistry

/// The scope and resource that a refresh requests: less than was granted, or another of the client's APIs (RFC 6749 section 6,
/// RFC 8707 section 2.2).
struct RefreshWish: Sendable {
  private let scope: String?
  private let resource: String?
  private let issuer: String
  private let audiences: [String]

  init(_ form: FormBody, of client: ConfiguredClient?, at issuer: String) {
    scope = form["scope"]
    resource = form["resource"]
    self.issuer = issuer
    audiences = client?.audiences ?? []
  }

  func names(_ field: String) -> Bool { field == "resource" && resource != nil }

  /// Returns the narrowed grant for the new token: `.some(nil)` if it is the session's own, `nil` if the request is refused.
  func narrowed(_ row: SessionRow) -> SessionClient?? {
    guard scope != nil || resource != nil else { return .some(nil) }
    guard let client = row.client else {
      // The server's own app has no scopes and only one API.
      return scope == nil && resource == issuer ? .some(nil) : nil
    }
    let granted = client.scope.split(separator: " ")
    let asked = scope?.split(separator: " ") ?? granted
    guard asked.allSatisfy({ granted.contains($0) }) else { return nil }
    let audience = resource ?? client.audience
    if let resource, resource != client.audience ?? issuer {
      guard client.audience == nil, audiences.contains(resource) else { return nil }
    }
    return .some(
      SessionClient(
        id: client.id, scope: asked.joined(separator: " "), audience: audience == issuer ? nil : audience))
  }
}
#endif
