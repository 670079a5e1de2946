#if Verifier
import HandstampCore
import HandstampSupport

/// The parts of a request that a verifier needs, for any server.
public struct AccessRequest: Sendable {
  /// The method, such as `GET`.
  public var method: String
  /// The public URL that the client called: a proof of possession names it. Query and fragment do not matter.
  public var url: String
  /// The values of all `Authorization` fields.
  public var authorization: [String]
  /// The values of all `DPoP` fields.
  public var proofs: [String]

  public init(method: String, url: String, authorization: [String], proofs: [String] = []) {
    self.method = method
    self.url = url
    self.authorization = authorization
    self.proofs = proofs
  }

  /// The scheme that a response is for; bearer if the request has none.
  var scheme: AccessScheme { authorization.first.flatMap { AccessRequest.split($0) }?.scheme ?? .bearer }

  /// The token. There must be exactly one field, with a scheme that is known.
  func token() throws(AccessError) -> (AccessScheme, Substring) {
    guard let field = authorization.first else { throw .tokenMissing }
    guard let (scheme, token) = AccessRequest.split(field) else { throw .tokenMissing }
    guard authorization.count == 1, let token else { throw .tokenInvalid(.badField) }
    return (scheme, token)
  }

  private static func split(_ field: String) -> (scheme: AccessScheme, token: Substring?)? {
    let parts = field.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard let scheme = AccessScheme(parts[0]) else { return nil }
    return (scheme, parts.count == 2 ? parts[1] : nil)
  }
}

extension AccessRequest: CustomStringConvertible, CustomReflectable {
  /// The method, and the URL without its query; header fields have secrets.
  public var description: String { "\(method) \(url.prefix { $0 != "?" && $0 != "#" })" }
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
#endif
