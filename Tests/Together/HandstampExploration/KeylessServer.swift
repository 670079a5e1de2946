import HandstampCore

/// One session at a server without rotation keys, as most are.
package struct KeylessServer: Sendable, Hashable {
  /// The server's handling of a used refresh token.
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Replaces it; a second use ends the session (RFC 9700 section 4.14.2).
    case strict
    /// Replaces it; a second use within the grace time returns the same successor.
    case graceSameSuccessor
    /// Replaces it; a second use within the grace time returns another successor.
    case graceNewSuccessor
    /// Keeps it; a new access token replaces the previous one.
    case keepsAndReplaces
    /// Keeps it; access tokens are valid until they expire.
    case keepsAndAdds
    /// Issues no refresh tokens.
    case none

    package var rotates: Bool {
      switch self {
      case .strict, .graceSameSuccessor, .graceNewSuccessor: true
      case .keepsAndReplaces, .keepsAndAdds, .none: false
      }
    }
  }

  let kind: Kind
  /// How long servers with a grace time accept a replaced token.
  let overlap: Duration
  let session: SessionID
  let profile: Profile
  let startedAt: UnixTime
  private(set) var end: EndReason?
  /// The number of the newest refresh token.
  private var newest: UInt64 = 0
  /// The number of the newest access token.
  private var minted: UInt64 = 0
  /// The first use of each refresh token, and the successor returned.
  private var used: [UInt64: Use] = [:]

  private struct Use: Sendable, Hashable {
    var at: UnixTime
    var successor: UInt64
  }

  init(_ kind: Kind, overlap: Duration, number: Int, person: String, at time: UnixTime) {
    self.overlap = overlap
    self.kind = kind
    session = SessionID("k\(number)")
    profile = Profile(id: AccountID(person), name: person)
    startedAt = time
  }

  func grant(life: Duration?, at time: UnixTime) -> TokenResponse {
    let token = RefreshToken("\(ModelServer.secretWord) \(session.rawValue) \(newest) 0")
    let ends = life.map { time.advanced(by: $0).milliseconds } ?? .max
    let access = AccessToken("a \(ModelServer.secretWord) \(session.rawValue) \(minted) 0 \(ends)")
    return TokenResponse(
      tokens: TokenSet(access: access, expiresIn: life, refresh: kind == .none ? nil : token), sessionID: session,
      profile: profile, revocation: RevocationHandle(kind == .none ? access.secret : token.secret))
  }

  mutating func present(_ token: RefreshToken, life: Duration?, at time: UnixTime) -> RefreshResult {
    guard let number = ModelServer.words(of: token.secret, of: session)?.0 else { return .rejected(.rejected) }
    if let end { return .rejected(end) }
    guard kind.rotates else {
      minted += 1
      return .granted(grant(life: life, at: time))
    }
    if let use = used[number] {
      guard kind != .strict, time.since(use.at) <= overlap else {
        end = .tokenReuseDetected
        return .rejected(.tokenReuseDetected)
      }
      minted += 1
      guard kind == .graceNewSuccessor else {
        var again = grant(life: life, at: time)
        again.tokens.refresh = RefreshToken("\(ModelServer.secretWord) \(session.rawValue) \(use.successor) 0")
        return .granted(again)
      }
      newest += 1
      return .granted(grant(life: life, at: time))
    }
    newest += 1
    minted += 1
    used[number] = Use(at: time, successor: newest)
    return .granted(grant(life: life, at: time))
  }

  /// Whether the API accepts an unexpired access token of this session.
  func keeps(_ access: Credential) -> Bool {
    guard kind == .keepsAndReplaces else { return true }
    return KeylessServer.number(of: access, of: session) == minted
  }

  /// The number of access tokens issued before `access`; `nil` for one of another session.
  static func number(of access: Credential, of session: SessionID) -> UInt64? {
    let parts = access.secret.withExposed { $0.split(separator: " ").map(String.init) }
    guard parts.count == 6, parts[2] == session.rawValue else { return nil }
    return UInt64(parts[3])
  }

  /// Ends the session; without a handle, on the server's own initiative. A token that was used and replaced ends
  /// nothing, and is treated like one that was never issued (RFC 7009 section 2.2).
  mutating func revoke(with handle: RevocationHandle?, _ reason: EndReason) {
    guard end == nil else { return }
    if let handle, kind.rotates {
      guard let number = ModelServer.words(of: handle.secret, of: session)?.0, used[number] == nil else { return }
    }
    end = reason
  }
}
