#if Server
import Crypto
import Foundation
public import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// The keys that sign access tokens: keys of P-256 (ES256), and of RSA (RS256) for clients that ask for it. Of each kind the
/// newest comes first and signs new tokens; the others verify tokens signed before a rotation and can be removed once the last
/// such token has expired.
public struct SigningKeys: Sendable {
  /// An algorithm that access tokens are signed with.
  public enum Algorithm: String, Sendable, Hashable, CaseIterable, Codable {
    case es256 = "ES256"
    case rs256 = "RS256"
  }

  /// The size of new RSA keys, in bits. They sign tokens that live for minutes, so they need to last no longer than until the
  /// next rotation; 2048 bits are enough for that (NIST SP 800-57, until 2030). With 3072, signing takes three times as long, and
  /// a new key up to a second. Files may have any size from 2048 to 8192 bits.
  static let modulusSize = 2048

  /// Keys of P-256, at least one.
  private let p256: [JWSPrivateKey]
  private let rsa: [JWSPrivateKey]
  /// The first key of P-256.
  private let current: JWSPrivateKey

  var keys: [JWSPrivateKey] { p256 + rsa }

  /// Creates a set with one new key of P-256.
  public init() {
    current = .es256()
    (p256, rsa) = ([current], [])
  }

  /// - Returns: `nil` without a key of P-256.
  private init?(_ keys: [JWSPrivateKey]) {
    p256 = keys.filter { $0.algorithm == .es256 }
    rsa = keys.filter { $0.algorithm == .rs256 }
    guard let current = p256.first else { return nil }
    self.current = current
  }

  /// The IDs of all keys, newest first, those of RSA keys last. A key's ID is its thumbprint (RFC 7638), the same everywhere.
  public var ids: [String] { keys.map(\.id) }

  /// The algorithms that there are keys for.
  public var algorithms: [Algorithm] { rsa.isEmpty ? [.es256] : [.es256, .rs256] }

  /// Returns these keys with a new one in front, of each kind that they have.
  public func rotated() -> SigningKeys {
    // Without a new RSA key, the previous one goes on signing.
    let new = rsa.isEmpty ? nil : JWSPrivateKey.rs256(bits: SigningKeys.modulusSize)
    return SigningKeys([.es256()] + (new.map { [$0] } ?? []) + keys) ?? self
  }

  /// Returns these keys with an RSA key, which is generated unless there is one. That takes some tenths of a second.
  ///
  /// - Throws: ``ServerConfigurationError/noRSAKey``.
  public func withRSAKey() throws(ServerConfigurationError) -> SigningKeys {
    guard rsa.isEmpty else { return self }
    guard let new = JWSPrivateKey.rs256(bits: SigningKeys.modulusSize) else { throw .noRSAKey }
    return SigningKeys(keys + [new]) ?? self
  }

  /// The IDs of the keys that sign: the first of each kind.
  public var signingIDs: [String] { [current.id] + rsa.prefix(1).map(\.id) }

  /// Returns the algorithm of a key; `nil` if there is no such key.
  public func algorithm(of id: String) -> Algorithm? {
    p256.contains { $0.id == id } ? .es256 : rsa.contains { $0.id == id } ? .rs256 : nil
  }

  /// Returns these keys with a new one at the end, of each kind that they have: it is published, so that verifiers know it before
  /// it signs.
  ///
  /// - Throws: ``ServerConfigurationError/noRSAKey``.
  public func addingNextKey() throws(ServerConfigurationError) -> SigningKeys {
    guard !rsa.isEmpty else { return SigningKeys(keys + [.es256()]) ?? self }
    guard let new = JWSPrivateKey.rs256(bits: SigningKeys.modulusSize) else { throw .noRSAKey }
    return SigningKeys(keys + [.es256(), new]) ?? self
  }

  /// Returns these keys with those of `ids` in front, so that they sign.
  public func signers(for ids: Set<String>) -> SigningKeys {
    SigningKeys(keys.filter { ids.contains($0.id) } + keys.filter { !ids.contains($0.id) }) ?? self
  }

  /// Returns these keys without one of them; `nil` if that leaves no key of P-256.
  public func without(_ id: String) -> SigningKeys? { SigningKeys(keys.filter { $0.id != id }) }

  /// Parses ``pem``.
  ///
  /// - Throws: ``ServerConfigurationError`` if the text is of another form, or there is no key of P-256, or anything else in it.
  public init(pem: Secret) throws(ServerConfigurationError) {
    let read = pem.withExposed { SigningKeys.read($0) }
    guard let keys = SigningKeys(try read.get()) else { throw .signingKeys }
    self = keys
  }

  /// The first line of the file, which says its form.
  private static let title = "handstamp-signing-keys: 1\n"

  private static func read(_ text: String) -> Result<[JWSPrivateKey], ServerConfigurationError> {
    guard text.hasPrefix(title) else { return .failure(.signingKeyFormat) }
    let end = "-----END PRIVATE KEY-----"
    var rest = text.dropFirst(title.count)
    var keys: [JWSPrivateKey] = []
    while let range = rest.range(of: end) {
      let block = rest[..<range.upperBound].trimmingCharacters(in: .whitespacesAndNewlines)
      guard let key = JWSPrivateKey(pem: block) else { return .failure(.signingKeys) }
      keys.append(key)
      rest = rest[range.upperBound...]
    }
    return rest.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty ? .success(keys) : .failure(.signingKeys)
  }

  /// All keys as PKCS #8 in PEM, newest first, those of RSA last, below a line that says the form; for a file with mode 0600.
  public var pem: Secret { Secret(SigningKeys.title + keys.map { $0.pem + "\n" }.joined()) }

  /// Returns a derived key for another purpose, the same on every server with these signing keys.
  func derived(_ purpose: String) -> [UInt8] {
    HKDF<SHA256>.deriveKey(inputKeyMaterial: current.secret, info: Array(purpose.utf8), outputByteCount: 32)
      .withUnsafeBytes { Array($0) }
  }

  /// The public keys, as served at `/.well-known/jwks.json` (RFC 7517). Those of RSA come first: there are clients that take the first one
  /// before they look at the ID.
  var publicSet: [UInt8] { JWKSet((rsa + p256).map { JWK($0.publicKey) }).json }
}

extension SigningKeys.Algorithm {
  var jws: JWSAlgorithm {
    switch self {
    case .es256: .es256
    case .rs256: .rs256
    }
  }
}

extension JWSPrivateKey {
  /// The ID of the key in headers and key sets.
  var id: String { publicKey.thumbprint }
}

extension SigningKeys: CustomStringConvertible, CustomReflectable {
  /// Only the IDs.
  public var description: String { "signing keys \(ids)" }
  public var customMirror: Mirror { Mirror(self, children: ["ids": ids]) }
}

/// The signing keys, each with the encoded header of the tokens of one type that it signs.
///
/// A header is accepted only if it is, byte for byte, one that this server writes. That rules out `none`, keys inside the header,
/// other types of tokens, and alternative spellings of a token.
struct TokenSigners: Sendable {
  private struct Signer: Sendable {
    let key: JWSPrivateKey
    let header: [UInt8]
  }

  private let all: [Signer]
  /// The newest of each algorithm.
  private let current: [JWSAlgorithm: Signer]

  /// - Parameter type: the `typ` of the tokens, such as `at+jwt`.
  init(_ keys: SigningKeys, type: String) {
    all = keys.keys.map { Signer(key: $0, header: CompactJWS.header(for: $0.publicKey, type: type)) }
    current = Dictionary(all.map { ($0.key.algorithm, $0) }) { newest, _ in newest }
  }

  /// Returns the token with these claims.
  ///
  /// - Throws: ``RegistryError/unavailable(_:)`` if it cannot be signed.
  func token(_ claims: JSONText, signedWith algorithm: SigningKeys.Algorithm) throws(RegistryError) -> String {
    guard let signer = current[algorithm.jws],
      let token = CompactJWS.signed(claims.finished, under: signer.header, by: signer.key)
    else { throw .unavailable("signing failed") }
    return String(decoding: token, as: UTF8.self)
  }

  /// Returns the claims of a token; `nil` if none of the keys has signed it. The signature is verified before the claims are parsed.
  func claims(of token: Substring) -> JSONValue? {
    guard let token = CompactJWS(Array(token.utf8)), let signer = all.first(where: { token.hasHeader($0.header) }),
      let payload = token.payload(under: signer.header, signedBy: signer.key.publicKey)
    else { return nil }
    return JSONValue(payload)
  }
}
#endif
