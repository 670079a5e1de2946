import Crypto
public import HandstampCore
import HandstampSupport

/// Issues and parses refresh tokens, revocation handles and the cookies of browsers. Tokens are not stored: a token is genuine if its MAC is valid.
///
///     hst1.<kid>.<base64url( session(16) ‖ counter(varint) ‖ mark(8) ‖ mac(16) )>
///     hsr1.<kid>.<base64url( session(16) ‖ mac(16) )>
///     hsb1.<kid>.<base64url( session(16) ‖ counter(varint) ‖ mac(16) )>
///
/// The prefixes let secret scanners find leaked tokens. A MAC's key is HKDF-SHA-256 of the master key, with the prefix and the
/// session as info, so that a handle is not a valid token, and a MAC is valid for one session only. Of all texts that would
/// decode to the same bytes, only one is accepted.
public struct TokenMint: Sendable {
  /// The maximum length of a genuine text, in bytes; longer input is refused unread.
  public static let maxLength = 128

  private static let macSize = 16

  /// The keys that tokens are signed and checked with.
  public let keys: MasterKeys

  /// The part of the key derivation that is the same for all tokens, done once instead of twice per refresh.
  private let extracted: ExtractedKeys

  public init(_ keys: MasterKeys) {
    self.keys = keys
    extracted = ExtractedKeys(keys)
  }

  /// Returns the token with these claims, made with the current key. The same claims and key always give the same token.
  public func refreshToken(_ claims: RefreshClaims) -> RefreshToken {
    let body = claims.session.bytes + Varint.encode(claims.counter) + bigEndian(claims.mark.rawValue)
    return RefreshToken(seal(body, for: .refreshToken, session: claims.session, message: body))
  }

  /// Returns the handle that can revoke this session and nothing else.
  public func revocationHandle(for session: SessionBytes) -> RevocationHandle {
    RevocationHandle(
      seal(
        session.bytes, for: .revocationHandle, session: session, message: TokenMint.handleMessage(session)))
  }

  /// Returns the cookie of a browser's session.
  ///
  /// - Parameter counter: that of its row, which every further proof of the user increments: only the newest cookie counts.
  public func browserCookie(for session: SessionBytes, counter: UInt64) -> Secret {
    let body = session.bytes + Varint.encode(counter)
    return seal(body, for: .browserCookie, session: session, message: body)
  }

  /// Parses ``browserCookie(for:counter:)``.
  func read(browserCookie cookie: Secret) -> TokenReading<BrowserClaims> {
    guard let parts = parts(of: cookie, for: .browserCookie),
      (1...Varint.maxSize).contains(parts.body.count - SessionBytes.count),
      let session = SessionBytes(parts.body.prefix(SessionBytes.count)),
      let counter = Varint.decode(parts.body.dropFirst(SessionBytes.count))
    else { return .forged }
    let claims = BrowserClaims(session: session, counter: counter)
    return check(parts, for: .browserCookie, session: session, message: parts.body, of: claims)
  }

  /// Returns the session that a request with a key begins, the same one for each repeat.
  ///
  /// - Parameter request: what the request is for, such as the account and the device, so that another request with the same key
  ///   begins another session.
  /// - Returns: the session by the current master key, followed by those by the other keys.
  func sessions(begunBy key: RotationKey, for request: [String]) -> [SessionBytes] {
    let message =
      request.flatMap { Array("\($0.utf8.count):\($0)".utf8) } + key.secret.withExposedBytes { Array($0) }
    let others = extracted.prepared.filter { $0.key != keys.current }.sorted { $0.key < $1.key }.map(\.value)
    return ([extracted.preparedCurrent] + others).compactMap {
      SessionBytes(Derivation.mac(of: message, extracted: $0, for: .session))
    }
  }

  /// Returns a MAC of a text, made with the current key: 96 bits.
  package func macBytes(of text: String, for purpose: Purpose) -> [UInt8] {
    Array(
      Derivation.mac(of: Array(text.utf8), extracted: extracted.preparedCurrent, for: purpose).prefix(12))
  }

  /// Returns ``macBytes(of:for:)`` in base64url.
  package func mac(of text: String, for purpose: Purpose) -> String {
    Base64URL.encode(macBytes(of: text, for: purpose))
  }

  /// Returns the key that ``seal(_:for:boundTo:)`` encrypts with; `nil` if the master key is not known, or was retired.
  func sealingKey(_ id: KeyID, for purpose: Purpose) -> SymmetricKey? {
    // The only block of HKDF's output (RFC 5869 section 2.3), under an info that no MAC is made under.
    extracted.prepared[id].map { SymmetricKey(data: $0.mac(of: Array("seal \(purpose.rawValue)".utf8) + [1])) }
  }

  /// Parses a refresh token. A revocation handle is ``TokenReading/forged``.
  public func read(_ token: RefreshToken) -> TokenReading<RefreshClaims> {
    guard let parts = parts(of: token.secret, for: .refreshToken) else { return .forged }
    let numberSize = parts.body.count - SessionBytes.count - 8
    guard (1...Varint.maxSize).contains(numberSize),
      let session = SessionBytes(parts.body.prefix(SessionBytes.count)),
      let counter = Varint.decode(parts.body.dropFirst(SessionBytes.count).prefix(numberSize))
    else { return .forged }
    let mark = parts.body.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let claims = RefreshClaims(session: session, counter: counter, mark: KeyMark(rawValue: mark))
    return check(parts, for: .refreshToken, session: session, message: parts.body, of: claims)
  }

  /// Parses a revocation handle. A refresh token is ``TokenReading/forged``.
  public func read(_ handle: RevocationHandle) -> TokenReading<SessionBytes> {
    guard let parts = parts(of: handle.secret, for: .revocationHandle),
      let session = SessionBytes(parts.body)
    else { return .forged }
    let message = TokenMint.handleMessage(session)
    return check(parts, for: .revocationHandle, session: session, message: message, of: session)
  }

  private static func handleMessage(_ session: SessionBytes) -> [UInt8] { session.bytes + Array("revoke".utf8) }

  private func seal(_ body: [UInt8], for purpose: Purpose, session: SessionBytes, message: [UInt8]) -> Secret {
    let mac = Derivation.mac(of: message, extracted: extracted.preparedCurrent, for: purpose, session: session)
    return Secret("\(purpose.rawValue).\(keys.current).\(Base64URL.encode(body + mac))")
  }

  private struct Parts {
    var key: KeyID
    var body: [UInt8]
    var mac: [UInt8]
  }

  private func parts(of secret: Secret, for purpose: Purpose) -> Parts? {
    guard secret.count <= TokenMint.maxLength else { return nil }
    return secret.withExposedBytes { text in
      let fields = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard fields.count == 3, fields[0].elementsEqual(purpose.rawValue.utf8) else { return nil }
      let key = KeyID(String(decoding: fields[1], as: UTF8.self))
      guard key.isValid, let bytes = Base64URL.decode(fields[2]), bytes.count > TokenMint.macSize else { return nil }
      return Parts(
        key: key, body: Array(bytes.dropLast(TokenMint.macSize)), mac: Array(bytes.suffix(TokenMint.macSize)))
    }
  }

  private func check<Claims>(
    _ parts: Parts, for purpose: Purpose, session: SessionBytes, message: [UInt8], of claims: Claims
  ) -> TokenReading<Claims> {
    guard let key = extracted.prepared[parts.key] else {
      return keys.retired.contains(parts.key) ? .forged : .unknownKey(parts.key)
    }
    let mac = Derivation.mac(of: message, extracted: key, for: purpose, session: session)
    return constantTimeEqual(mac, parts.mac) ? .genuine(claims) : .forged
  }
}

/// The content of a browser's cookie.
struct BrowserClaims: Sendable, Hashable {
  var session: SessionBytes
  var counter: UInt64
}

/// Derived secrets, as sensitive as the master keys themselves. They are never printed.
private struct ExtractedKeys: Sendable, CustomStringConvertible, CustomReflectable {
  let prepared: [KeyID: Derivation.PreparedKey]
  let preparedCurrent: Derivation.PreparedKey

  init(_ keys: MasterKeys) {
    prepared = keys.keys.mapValues { Derivation.PreparedKey(Derivation.extract($0)) }
    preparedCurrent = Derivation.PreparedKey(Derivation.extract(keys.currentKey))
  }

  var description: String { "<redacted>" }
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// The result of parsing a presented token.
public enum TokenReading<Claims: Sendable & Hashable>: Sendable, Hashable {
  /// This server issued the token.
  case genuine(Claims)
  /// This server did not issue the token, it was altered, or its key was retired. It has no effect: invalid tokens end no session.
  case forged
  /// The token is well formed and names a key that this server does not have: an operator's mistake, so the client should
  /// retry.
  case unknownKey(KeyID)
}

extension TokenMint {
  /// Encrypts bytes for this server alone, with AES-GCM and a random nonce, as `<kid>.<base64url>`. Each purpose has a key of its own.
  ///
  /// - Parameter context: what the text belongs to; only the same opens it.
  /// - Returns: `nil` if the system has no such cipher.
  package func seal(_ bytes: [UInt8], for purpose: Purpose, boundTo context: String) -> String? {
    guard let key = sealingKey(keys.current, for: purpose),
      let box = try? AES.GCM.seal(bytes, using: key, authenticating: Array(context.utf8)), let whole = box.combined
    else { return nil }
    return "\(keys.current).\(Base64URL.encode(Array(whole)))"
  }

  /// Returns what ``seal(_:for:boundTo:)`` was given; `nil` for any other text, purpose or context.
  package func open(_ text: String, for purpose: Purpose, boundTo context: String) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let key = sealingKey(KeyID(String(parts[0])), for: purpose),
      let whole = Base64URL.decode(parts[1]), let box = try? AES.GCM.SealedBox(combined: whole),
      let bytes = try? AES.GCM.open(box, using: key, authenticating: Array(context.utf8))
    else { return nil }
    return Array(bytes)
  }

  /// Seals a secret that is stored, see ``seal(_:for:boundTo:)-([UInt8],_,_)``.
  package func seal(_ secret: Secret, for purpose: Purpose, boundTo context: String) throws(RegistryError) -> String {
    let text = secret.withExposedBytes { seal(Array($0), for: purpose, boundTo: context) }
    guard let text else { throw .unavailable("a secret cannot be sealed") }
    return text
  }

  /// Returns the secret that ``seal(_:for:boundTo:)-(Secret,_,_)`` was given; `nil` for any other text, purpose or context.
  ///
  /// - Throws: ``RegistryError/unknownKey(_:)`` if this server does not have the key, and it was not retired.
  package func secret(_ text: String, for purpose: Purpose, boundTo context: String) throws(RegistryError) -> Secret? {
    if let bytes = open(text, for: purpose, boundTo: context) { return Secret(bytes: bytes) }
    guard let id = TokenMint.key(ofSealed: text), keys.keys[id] == nil, !keys.retired.contains(id) else { return nil }
    throw .unknownKey(id)
  }

  /// The key that a text was sealed with, as it says; `nil` for a text that is not sealed.
  static func key(ofSealed text: String) -> KeyID? {
    let id = KeyID(String(text.prefix { $0 != "." }))
    return text.contains(".") && id.isValid ? id : nil
  }
}

/// Variable-length integers, seven bits per byte, the least significant first (LEB128). Only the shortest encoding of a
/// number is accepted; otherwise several tokens would have the same meaning.
enum Varint {
  /// The maximum number of bytes: 56 bits, which no counter reaches and which fits every database.
  static let maxSize = 8
  static let limit: UInt64 = 1 << 56

  static func encode(_ number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = number
    while rest >= 128 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
    return bytes
  }

  /// Decodes all of `bytes`. Returns `nil` if they are empty, too many, truncated, or longer than needed.
  static func decode(_ bytes: some BidirectionalCollection<UInt8>) -> UInt64? {
    guard (1...maxSize).contains(bytes.count), let last = bytes.last else { return nil }
    guard last < 128, last != 0 || bytes.count == 1 else { return nil }
    var number: UInt64 = 0
    for byte in bytes.reversed() { number = number << 7 | UInt64(byte & 127) }
    // Every byte but the last has the continuation bit.
    return bytes.dropLast().allSatisfy { $0 >= 128 } ? number : nil
  }
}
