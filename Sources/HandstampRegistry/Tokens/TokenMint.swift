import Crypto
public import HandstampCore

/// Makes and reads refresh tokens and revocation handles. No token is stored anywhere: it is genuine when its MAC is.
///
///     hst1.<kid>.<base64url( session(16) ‖ counter(varint) ‖ mark(8) ‖ mac(16) )>
///     hsr1.<kid>.<base64url( session(16) ‖ mac(16) )>
///
/// The prefixes are our own, so that secret scanners find leaks. A MAC's key is HKDF-SHA-256 of the master key, its info
/// the prefix and the session: a handle is no token, and no MAC of one session is good for another. Texts that would
/// decode to the same bytes are refused but for one.
public struct TokenMint: Sendable {
  /// No genuine text is longer, in bytes; nothing longer is looked at.
  public static let maxLength = 128

  private static let tokenPrefix = "hst1"
  private static let handlePrefix = "hsr1"
  private static let macSize = 16

  /// The keys that tokens are made and checked with.
  public let keys: MasterKeys

  /// What is derived of each key for every token alike; once instead of twice a refresh.
  private let extracted: ExtractedKeys

  public init(_ keys: MasterKeys) {
    self.keys = keys
    extracted = ExtractedKeys(keys)
  }

  /// The token that says `claims`, made with the current key. The same claims make the same token, until the key changes.
  public func refreshToken(_ claims: RefreshClaims) -> RefreshToken {
    let body = claims.session.bytes + Varint.encode(claims.counter) + bigEndian(claims.mark.rawValue)
    return RefreshToken(seal(body, prefix: TokenMint.tokenPrefix, session: claims.session, message: body))
  }

  /// What ends this session and can do nothing else.
  public func revocationHandle(for session: SessionBytes) -> RevocationHandle {
    RevocationHandle(
      seal(
        session.bytes, prefix: TokenMint.handlePrefix, session: session, message: TokenMint.handleMessage(session)))
  }

  /// Reads a refresh token. A handle is ``TokenReading/forged``.
  public func read(_ token: RefreshToken) -> TokenReading<RefreshClaims> {
    guard let parts = parts(of: token.secret, prefix: TokenMint.tokenPrefix) else { return .forged }
    let numberSize = parts.body.count - SessionBytes.count - 8
    guard (1...Varint.maxSize).contains(numberSize),
      let session = SessionBytes(parts.body.prefix(SessionBytes.count)),
      let counter = Varint.decode(parts.body.dropFirst(SessionBytes.count).prefix(numberSize))
    else { return .forged }
    let mark = parts.body.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return check(parts, prefix: TokenMint.tokenPrefix, session: session, message: parts.body) {
      RefreshClaims(session: session, counter: counter, mark: KeyMark(rawValue: mark))
    }
  }

  /// Reads a revocation handle. A refresh token is ``TokenReading/forged``.
  public func read(_ handle: RevocationHandle) -> TokenReading<SessionBytes> {
    guard let parts = parts(of: handle.secret, prefix: TokenMint.handlePrefix),
      let session = SessionBytes(parts.body)
    else { return .forged }
    let message = TokenMint.handleMessage(session)
    return check(parts, prefix: TokenMint.handlePrefix, session: session, message: message) { session }
  }

  private static func handleMessage(_ session: SessionBytes) -> [UInt8] { session.bytes + Array("revoke".utf8) }

  private func seal(_ body: [UInt8], prefix: String, session: SessionBytes, message: [UInt8]) -> Secret {
    // `MasterKeys` holds a key for `current`: without one there would be no value of that type.
    let key = extracted.keys[keys.current] ?? SymmetricKey(size: .bits256)
    let mac = Derivation.mac(of: message, extracted: key, purpose: prefix, session: session)
    return Secret("\(prefix).\(keys.current).\(Base64URL.encode(body + mac))")
  }

  private struct Parts {
    var key: KeyID
    var body: [UInt8]
    var mac: [UInt8]
  }

  private func parts(of secret: Secret, prefix: String) -> Parts? {
    guard secret.count <= TokenMint.maxLength else { return nil }
    return secret.withExposedBytes { text in
      let fields = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard fields.count == 3, fields[0].elementsEqual(prefix.utf8) else { return nil }
      let key = KeyID(String(decoding: fields[1], as: UTF8.self))
      guard key.isValid, let bytes = Base64URL.decode(fields[2]), bytes.count > TokenMint.macSize else { return nil }
      return Parts(
        key: key, body: Array(bytes.dropLast(TokenMint.macSize)), mac: Array(bytes.suffix(TokenMint.macSize)))
    }
  }

  private func check<Claims>(
    _ parts: Parts, prefix: String, session: SessionBytes, message: [UInt8], claims: () -> Claims
  ) -> TokenReading<Claims> {
    guard let key = extracted.keys[parts.key] else { return .unknownKey(parts.key) }
    let mac = Derivation.mac(of: message, extracted: key, purpose: prefix, session: session)
    return constantTimeEqual(mac, parts.mac) ? .genuine(claims()) : .forged
  }
}

/// Secrets as good as the master keys themselves: shown nowhere.
private struct ExtractedKeys: Sendable, CustomStringConvertible, CustomReflectable {
  let keys: [KeyID: SymmetricKey]

  init(_ keys: MasterKeys) { self.keys = keys.keys.mapValues(Derivation.extract) }

  var description: String { "<redacted>" }
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a presented text turned out to be.
public enum TokenReading<Claims: Sendable & Hashable>: Sendable, Hashable {
  /// This server made it.
  case genuine(Claims)
  /// It did not, or not like this. Nothing follows from it: garbage ends nobody's session.
  case forged
  /// It has the right form, and names a key that this server was not given: an operator's mistake, an answer for later.
  case unknownKey(KeyID)
}
