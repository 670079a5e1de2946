#if Verifier
import HandstampSupport

/// An API, as clients find it that know nothing but its URL (RFC 9728): clients of the Model Context Protocol, for example.
public struct ProtectedResource: Sendable, Hashable {
  /// The URL of the API, `https` without query and fragment: clients ask for tokens with this audience (RFC 8707). It is among
  /// ``VerifierConfiguration/audiences``.
  public var identifier: String
  /// The scopes for basic use. Clients ask for them at first, and for others when a request is refused without them.
  public var scopes: [String]
  /// The name that users see; `nil` for none.
  public var name: String?

  public init(_ identifier: String, scopes: [String] = [], name: String? = nil) {
    self.identifier = identifier
    self.scopes = scopes
    self.name = name
  }
}

/// The document that tells clients of an API where its tokens come from (RFC 9728 section 2). Serve it without a token, at ``path``.
public struct ResourceMetadata: Sendable, Hashable {
  /// The path at the API's host: `/.well-known/oauth-protected-resource`, followed by the path of the API (RFC 9728 section 3.1).
  public let path: String
  /// The address, which challenges name.
  public let url: String
  /// The document, `application/json`.
  public let json: [UInt8]

  init(_ document: ResourceDocument) {
    path = document.path
    url = document.url
    json = document.json
  }
}
#endif
