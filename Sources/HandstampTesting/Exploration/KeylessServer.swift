import HandstampCore

/// One session at a server that keeps no rotation keys, as most do.
package struct KeylessServer: Sendable, Hashable {
  /// What it does with a refresh token that was used.
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Replaces it; a second use ends the session (RFC 9700 section 4.14.2).
    case strict
    /// Replaces it; a second use within the grace time is answered with the same successor.
    case graceSameSuccessor
    /// Replaces it; a second use within the grace time is answered with one more successor.
    case graceNewSuccessor
    /// Keeps it; a new access token takes the place of the former one.
    case keepsAndReplaces
    /// Keeps it; access tokens are good until they expire.
    case keepsAndAdds
    /// Issues none.
    case none

    package var rotates: Bool {
      switch self {
      case .strict, .graceSameSuccessor, .graceNewSuccessor: true
      case .keepsAndReplaces, .keepsAndAdds, .none: false
      }
    }
  }

  /// How long a server with a grace time forgives.
  static let grace: Duration = .seconds(90)

  let kind: Kind
  let session: SessionID
  let profile: Profile
  let startedAt: UnixTime
  private(set) var end: EndReason?
  /// The newest refresh token's number.
  private var newest: UInt64 = 0
  /// The newest access token's.
  private var minted: UInt64 = 0
  /// When each refresh token was used first, and what it was answered with.
  private var used: [UInt64: Use] = [:]

  private struct Use: Sendable, Hashable {
    var at: UnixTime
    var successor: UInt64
  }

  init(_ kind: Kind, number: Int, person: String, at time: UnixTime) {
    self.kind = kind
    session = SessionID("k\(number)")
    profile = Profile(id: AccountID(person), name: person)
    startedAt = time
  }

  func grant(life: Duration?, at time: UnixTime) -> Grant {
    let token = RefreshToken("\(ModelServer.secretWord) \(session.rawValue) \(newest) 0")
    let ends = life.map { time.advanced(by: $0).milliseconds } ?? .max
    let access = AccessToken("a \(ModelServer.secretWord) \(session.rawValue) \(minted) 0 \(ends)")
    return Grant(
      tokens: TokenSet(access: access, life: life, refresh: kind == .none ? nil : token), session: session,
      profile: profile, revocation: RevocationHandle(kind == .none ? access.secret : token.secret))
  }

  mutating func present(_ token: RefreshToken, life: Duration?, at time: UnixTime) -> SessionMachine.RefreshAnswer {
    guard let number = ModelServer.words(of: token.secret, of: session)?.0 else { return .rejected(.rejected) }
    if let end { return .rejected(end) }
    guard kind.rotates else {
      minted += 1
      return .granted(grant(life: life, at: time))
    }
    if let use = used[number] {
      guard kind != .strict, time.since(use.at) <= KeylessServer.grace else {
        end = .misused
        return .rejected(.misused)
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

  /// Whether its API takes an access token of this session that has not expired.
  func keeps(_ access: AccessToken) -> Bool {
    guard kind == .keepsAndReplaces else { return true }
    return KeylessServer.number(of: access, of: session) == minted
  }

  /// How many access tokens came before `access`; `nil` for one of another session.
  static func number(of access: AccessToken, of session: SessionID) -> UInt64? {
    let parts = access.secret.withExposed { $0.split(separator: " ").map(String.init) }
    guard parts.count == 6, parts[2] == session.rawValue else { return nil }
    return UInt64(parts[3])
  }

  /// Without a handle it is the server's own doing. A token that was used and replaced ends nothing, and is answered like one
  /// that was never issued (RFC 7009 section 2.2).
  mutating func revoke(with handle: RevocationHandle?, _ reason: EndReason) {
    guard end == nil else { return }
    if let handle, kind.rotates {
      guard let number = ModelServer.words(of: handle.secret, of: session)?.0, used[number] == nil else { return }
    }
    end = reason
  }
}
