#if Server
import Crypto
public import HandstampCore
import HandstampSupport

/// A person or program that may administer the server over HTTP, with a token of its own.
public struct Administrator: Sendable, Hashable {
  /// The minimum length of a token, in bytes. Draw it at random: it is not a password, and is not hashed slowly.
  public static let minimumTokenSize = 32

  /// The name in the audit log: 1 to 64 ASCII letters, digits, `-`, `_`, `.` or `@`.
  public let name: String
  /// The SHA-256 of the token.
  private let hash: Secret

  /// - Throws: ``ServerConfigurationError``.
  public init(name: String, token: Secret) throws(ServerConfigurationError) {
    guard token.isToken, token.count >= Administrator.minimumTokenSize else { throw .administratorToken(name) }
    try self.init(name: name, tokenHash: Administrator.hash(of: token))
  }

  /// - Parameter tokenHash: the SHA-256 of the token, 32 bytes.
  /// - Throws: ``ServerConfigurationError``.
  public init(name: String, tokenHash: [UInt8]) throws(ServerConfigurationError) {
    guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ $0.isAlphanumeric || "-_.@".utf8.contains($0) })
    else {
      throw .administratorName(name)
    }
    guard tokenHash.count == SHA256.byteCount else { throw .administratorHash(name) }
    self.name = name
    hash = Secret(bytes: tokenHash)
  }

  /// Returns the administrator with this token. All are compared, in constant time.
  static func with(_ token: Secret, among administrators: [Administrator]) -> Administrator? {
    let hash = Secret(bytes: Administrator.hash(of: token))
    return administrators.reduce(nil) { found, administrator in administrator.hash == hash ? administrator : found }
  }

  private static func hash(of token: Secret) -> [UInt8] {
    token.withExposedBytes { Array(SHA256.hash(data: $0)) }
  }
}
#endif
