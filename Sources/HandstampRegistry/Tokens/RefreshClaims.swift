public import HandstampCore

/// The sixteen random bytes that name a session.
public struct SessionBytes: Sendable, Hashable {
  public static let count = 16
  public let bytes: [UInt8]

  /// Nothing unless there are exactly sixteen.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == SessionBytes.count else { return nil }
    self.bytes = Array(bytes)
  }

  /// The bytes that an id stands for; nothing for an id that no server of ours made.
  public init?(_ id: SessionID) {
    guard id.rawValue.utf8.count == 22, let bytes = Base64URL.decode(id.rawValue) else { return nil }
    self.init(bytes)
  }

  /// Sixteen bytes of `random`: pass a cryptographic source, such as the system's.
  public init(from random: inout some RandomNumberGenerator) {
    bytes = randomBytes(SessionBytes.count, from: &random)
  }

  /// The bytes as text: base64url, 22 characters.
  public var id: SessionID { SessionID(Base64URL.encode(bytes)) }
}

/// What a rotation remembers of a rotation key: the first eight bytes of its SHA-256. It is also in the token that the
/// rotation made, as `m`, so that tokens of a forked branch are recognised.
public struct KeyMark: Sendable, Hashable {
  /// The eight bytes, the first of them the most significant.
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }
  public init(of key: RotationKey) { rawValue = Derivation.mark(of: key.secret) }

  /// What the first token of a session carries; nobody checks it.
  public static let zero = KeyMark(rawValue: 0)
}

/// What a genuine refresh token says.
public struct RefreshClaims: Sendable, Hashable {
  public var session: SessionBytes
  /// How many rotations came before it: 0 for the token of the sign-in.
  public var counter: UInt64
  /// The mark of the key that made it.
  public var mark: KeyMark

  public init(session: SessionBytes, counter: UInt64, mark: KeyMark) {
    self.session = session
    self.counter = counter
    self.mark = mark
  }
}
