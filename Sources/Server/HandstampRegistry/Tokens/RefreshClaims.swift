public import HandstampCore
import HandstampSupport

/// The 16 random bytes that identify a session.
public struct SessionBytes: Sendable, Hashable {
  public static let count = 16
  public let bytes: [UInt8]

  /// Returns `nil` unless there are exactly 16 bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == SessionBytes.count else { return nil }
    self.bytes = Array(bytes)
  }

  /// The bytes of a session ID; `nil` if the ID does not have the format of this server.
  public init?(_ id: SessionID) {
    guard id.rawValue.utf8.count == 22, let bytes = Base64URL.decode(id.rawValue) else { return nil }
    self.init(bytes)
  }

  /// Draws 16 bytes from `random`, which must be a cryptographic source, such as the system's.
  public init(from random: inout some RandomNumberGenerator) {
    bytes = randomBytes(SessionBytes.count, from: &random)
  }

  /// The bytes as text: base64url, 22 characters.
  public var id: SessionID { SessionID(Base64URL.encode(bytes)) }
}

/// The fingerprint of a rotation key: the first eight bytes of its SHA-256. The token that the rotation made contains it too,
/// so that tokens of a forked branch are detected.
public struct KeyMark: Sendable, Hashable {
  /// The eight bytes, the first of them the most significant.
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }
  public init(of key: RotationKey) { rawValue = Derivation.mark(of: key.secret) }

  /// Parses the parameter `rotation_key`; `nil` for any text that is not a key.
  package init?(parameter: Secret) {
    // 16 bytes encode to 22 characters; nothing longer is decoded.
    guard parameter.count == 22, let key = parameter.withExposed(RotationKey.init(wireText:)) else { return nil }
    self.init(of: key)
  }

  /// The mark in the first token of a session. It is not checked.
  public static let zero = KeyMark(rawValue: 0)
}

/// The claims of a genuine refresh token.
public struct RefreshClaims: Sendable, Hashable {
  public var session: SessionBytes
  /// The number of rotations before it; 0 for the token from the sign-in.
  public var counter: UInt64
  /// The mark of the rotation key that it was requested with.
  public var mark: KeyMark

  public init(session: SessionBytes, counter: UInt64, mark: KeyMark) {
    self.session = session
    self.counter = counter
    self.mark = mark
  }
}
