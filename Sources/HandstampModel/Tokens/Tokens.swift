/// What a request carries to show who sends it (RFC 6750). Short-lived.
public struct AccessToken: Sendable, Hashable {
  public let secret: Secret
  public init(_ secret: Secret) { self.secret = secret }
  public init(_ text: String) { secret = Secret(text) }
}

/// What a new access token is asked for with (RFC 6749 section 1.5). Long-lived, opaque to the client, sent to the token
/// endpoint only.
public struct RefreshToken: Sendable, Hashable {
  public let secret: Secret
  public init(_ secret: Secret) { self.secret = secret }
  public init(_ text: String) { secret = Secret(text) }
}

/// What ends one session and can do nothing else. Kept after sign-out, until the server has been told.
public struct RevocationHandle: Sendable, Hashable {
  public let secret: Secret
  public init(_ secret: Secret) { self.secret = secret }
  public init(_ text: String) { secret = Secret(text) }
}

/// The client's nonce for one rotation: 16 random bytes, written down before the refresh token is sent, and sent again with
/// every repeat. It tells an honest retry from a thief's replay.
public struct RotationKey: Sendable, Hashable {
  public static let byteCount = 16
  public let secret: Secret

  /// The key that `bytes` make; nothing unless there are exactly sixteen.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == RotationKey.byteCount else { return nil }
    secret = Secret(bytes: bytes)
  }

  /// Reads what ``wireText`` wrote; nothing for anything else.
  public init?(wireText: String) {
    guard let bytes = Base64URL.decode(wireText) else { return nil }
    self.init(bytes: bytes)
  }

  /// Sixteen bytes of `random`: pass a cryptographic source, such as the system's.
  public init(from random: inout some RandomNumberGenerator) {
    var bytes: [UInt8] = []
    for _ in 0..<2 {
      let word = random.next() as UInt64
      for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift * 8))) }
    }
    secret = Secret(bytes: bytes)
  }

  /// As it goes into the form field `rotation_key`: base64url without padding, 22 characters.
  public var wireText: Secret {
    secret.withExposedBytes { Secret(Base64URL.encode($0)) }
  }
}

/// The tokens of one answer of a token endpoint (RFC 6749 section 5.1).
public struct TokenSet: Sendable, Hashable {
  public var access: AccessToken
  /// `expires_in`; nothing when the server did not say.
  public var life: Duration?
  /// Nothing when the server issued none. Such a session is legal and ends with its access token.
  public var refresh: RefreshToken?

  public init(access: AccessToken, life: Duration?, refresh: RefreshToken?) {
    self.access = access
    self.life = life
    self.refresh = refresh
  }
}

/// The facts about a person that a session keeps, so that an app can greet them offline.
public struct Profile: Sendable, Hashable, Codable {
  public var id: AccountID
  public var name: String
  public var isAnonymous: Bool

  public init(id: AccountID, name: String, isAnonymous: Bool = false) {
    self.id = id
    self.name = name
    self.isAnonymous = isAnonymous
  }
}

/// What a sign-in or a refresh brings home.
public struct Grant: Sendable, Hashable {
  public var tokens: TokenSet
  /// The server's name for the session; nothing where the server has none, then the client draws one.
  public var session: SessionID?
  /// Who signed in. A refresh may leave it out.
  public var profile: Profile?
  /// Nothing where the server has no such thing.
  public var revocation: RevocationHandle?
  /// Who issued it: an issuer's address (OpenID Connect Core 1.0 section 2), at which alone the profile's id is one person's.
  /// Nothing where an app has one server.
  public var authority: String?

  public init(
    tokens: TokenSet, session: SessionID? = nil, profile: Profile? = nil, revocation: RevocationHandle? = nil,
    authority: String? = nil
  ) {
    self.tokens = tokens
    self.session = session
    self.profile = profile
    self.revocation = revocation
    self.authority = authority
  }

  /// What a grant may hold: tokens of at most 256 KiB each, which is more than any server takes in a header, of printable ASCII
  /// (RFC 6749 appendix A.12, A.17), and bearer tokens without spaces (RFC 6750 section 2.1).
  package func validate(isBearer: Bool) throws(SessionError) {
    let secrets = [tokens.access.secret, tokens.refresh?.secret, revocation?.secret].compactMap { $0 }
    guard !secrets.contains(where: \.isEmpty) else { throw .invalidAnswer("a token is empty") }
    guard secrets.allSatisfy({ $0.count <= 256 << 10 }) else { throw .invalidAnswer("a token is longer than 256 KiB") }
    let isPrintable = secrets.allSatisfy { $0.withExposedBytes { $0.allSatisfy { (32...126).contains($0) } } }
    guard !isBearer || isPrintable && tokens.access.secret.isToken else {
      throw .invalidAnswer("a token with characters that none may have")
    }
  }
}
