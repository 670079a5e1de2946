#if Server
import Crypto
import Foundation
import HandstampCore

/// Another program that people may let in to their accounts (RFC 6749 section 2), as the operator wrote it down. There is no
/// registration by the client itself.
public struct ConfiguredClient: Sendable, Hashable {
  /// How a client may come by tokens. A password is no way, nor is the implicit grant (RFC 9700 section 2).
  public enum Flow: String, Sendable, Hashable, CaseIterable, Codable {
    /// By a browser: authorization code with PKCE, S256.
    case code = "authorization_code"
    /// By a code on another device (RFC 8628).
    case device = "device_code"
  }

  /// Its `client_id`: printable ASCII.
  public let id: String
  /// What people read who are asked to let it in.
  public let name: String
  /// The SHA-256 of its secret. Nothing for a public client, such as an app or a command.
  public let secretHash: [UInt8]?
  /// Where browsers may be sent back to, compared byte by byte. `http` on 127.0.0.1 or [::1] without a port stands for any port
  /// (RFC 8252 section 7.3).
  public let redirectURIs: [String]
  public let flows: Set<Flow>
  /// What it may ask for.
  public let scopes: [String]
  /// The APIs that it may ask a token for (RFC 8707), beside this server's own.
  public let audiences: [String]
  /// Whether its tokens are as good as those of the server's own app: they may list and end sessions, change the password,
  /// delete the account. Else they are good for `GET /v1/me`, with the scope `profile`.
  public let isFirstParty: Bool

  /// - Throws: ``ClientFault`` for what could not work, or would not be safe.
  public init(
    id: String, name: String? = nil, secretHash: [UInt8]? = nil, redirectURIs: [String] = [],
    flows: Set<Flow> = [.code], scopes: [String] = [], audiences: [String] = [], isFirstParty: Bool = false
  ) throws(ClientFault) {
    guard !id.isEmpty, id.utf8.count <= 200, id.utf8.allSatisfy({ (33...126).contains($0) }) else { throw .badID }
    guard secretHash.map({ $0.count == 32 }) ?? true else { throw .badSecret(id) }
    for uri in redirectURIs {
      guard ConfiguredClient.isSafe(uri) else { throw .badRedirect(id, uri) }
    }
    guard !flows.contains(.code) || !redirectURIs.isEmpty else { throw .noRedirect(id) }
    for scope in scopes {
      // RFC 6749 section 3.3.
      let isToken = !scope.isEmpty && scope.utf8.allSatisfy { (33...126).contains($0) && $0 != 34 && $0 != 92 }
      guard isToken else { throw .badScope(id, scope) }
      guard scope != "openid" else { throw .noIDTokens(id) }
    }
    self.id = id
    self.name = name ?? id
    self.secretHash = secretHash
    self.redirectURIs = redirectURIs
    self.flows = flows
    self.scopes = scopes
    self.audiences = audiences
    self.isFirstParty = isFirstParty
  }

  /// Whether that is this client's secret.
  func has(_ secret: Secret) -> Bool {
    guard let secretHash else { return false }
    let hash = secret.withExposedBytes { bytes in
      var hash = SHA256()
      hash.update(bufferPointer: bytes)
      return Array(hash.finalize())
    }
    return Secret(bytes: hash) == Secret(bytes: secretHash)
  }

  /// Whether a browser may be sent there.
  func allows(redirect uri: String) -> Bool {
    redirectURIs.contains { registered in
      // Not as texts: `==` of those takes a Kelvin sign for a K.
      if registered.utf8.elementsEqual(uri.utf8) { return true }
      guard let base = ConfiguredClient.loopback(registered), let asked = ConfiguredClient.loopback(uri) else {
        return false
      }
      return base.port == nil && asked.port != nil && base.host == asked.host
        && base.rest.utf8.elementsEqual(asked.rest.utf8)
    }
  }

  /// The scopes in `text`, if it may have them all; all of its own where none is named.
  func granted(_ text: String?) -> String? {
    guard let text else { return scopes.joined(separator: " ") }
    let asked = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    return asked.allSatisfy { scopes.contains($0) } ? asked.joined(separator: " ") : nil
  }

  /// `http` on this very machine, in parts that are compared as they stand.
  private static func loopback(_ uri: String) -> (host: String, port: String?, rest: Substring)? {
    for host in ["127.0.0.1", "[::1]"] {
      let start = "http://" + host
      guard uri.hasPrefix(start) else { continue }
      let after = uri.dropFirst(start.count)
      guard after.first == ":" else { return after.isEmpty || after.first == "/" ? (host, nil, after) : nil }
      let port = after.dropFirst().prefix { $0.isASCII && $0.isNumber }
      let rest = after.dropFirst(1 + port.count)
      guard let number = Int(port), (1...65_535).contains(number), rest.isEmpty || rest.first == "/" else { return nil }
      return (host, String(port), rest)
    }
    return nil
  }

  /// An absolute address without a fragment (RFC 6749 section 3.1.2): `https`, `http` to this machine alone, or an app's own
  /// scheme with a dot in it (RFC 8252 section 7.1).
  private static func isSafe(_ uri: String) -> Bool {
    guard uri.utf8.allSatisfy({ (33...126).contains($0) }), !uri.contains("#"), let parts = URLComponents(string: uri),
      let scheme = parts.scheme?.lowercased(), parts.user == nil, parts.password == nil
    else { return false }
    switch scheme {
    case "https": return parts.host?.isEmpty == false
    case "http": return loopback(uri) != nil || ["localhost"].contains(parts.host?.lowercased() ?? "")
    default: return scheme.contains(".")
    }
  }
}

/// What is wrong with a client as it was written down.
public enum ClientFault: Error, Sendable, Hashable {
  /// The id is empty, or not printable ASCII.
  case badID
  /// No SHA-256.
  case badSecret(String)
  /// Browsers must not be sent there.
  case badRedirect(String, String)
  /// Without a place to go back to there is no sign-in by a browser.
  case noRedirect(String)
  case badScope(String, String)
  /// It asks for OpenID Connect's scope, and this server issues no ID tokens: the client would wait for one.
  case noIDTokens(String)
  /// Two of that id, or one that is the server's own app's.
  case twice(String)
}
#endif
