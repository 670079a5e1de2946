package import HandstampCore
#if Exploration
package import HandstampRegistry
#endif

/// One session at the server of a ``World``: our own, or a third-party server without rotation keys. Tokens contain in
/// clear text what real ones protect with a MAC. Forging a MAC is assumed to be impossible.
package enum ModelServer: Sendable, Hashable {
  #if Exploration
  /// The rules of our own server, including plantable faults.
  package typealias Rules = RotationRules
  #else
  /// The rules of our own server are constants.
  package struct Rules: Sendable, Hashable {
    package init() {}
  }
  #endif

  case keyed(KeyedServer)
  case keyless(KeylessServer)

  /// Part of every token of these servers, so that leaked tokens are recognized.
  package static let secretWord = "s3cr3t"

  package var profile: Profile {
    switch self {
    case .keyed(let server): server.profile
    case .keyless(let server): server.profile
    }
  }

  package var session: SessionID {
    switch self {
    case .keyed(let server): server.session
    case .keyless(let server): server.session
    }
  }

  package var startedAt: UnixTime {
    switch self {
    case .keyed(let server): server.startedAt
    case .keyless(let server): server.startedAt
    }
  }

  package var canLoseCommit: Bool {
    if case .keyed(let server) = self { server.canLoseCommit } else { false }
  }

  package func isAlive(at time: UnixTime) -> Bool { end(at: time) == nil }

  package func end(at time: UnixTime) -> EndReason? {
    switch self {
    case .keyed(let server): server.end(at: time)
    case .keyless(let server): server.end
    }
  }

  package func firstGrant(life: Duration? = nil, at time: UnixTime = World.start.wall) -> TokenResponse {
    switch self {
    case .keyed(let server): server.firstGrant(life: life, at: time)
    case .keyless(let server): server.grant(life: life, at: time)
    }
  }

  package mutating func present(
    _ token: RefreshToken, key: RotationKey?, life: Duration? = nil, at time: UnixTime = World.start.wall
  ) -> RefreshResult {
    switch self {
    case .keyed(var server):
      defer { self = .keyed(server) }
      return server.present(token, key: key, life: life, at: time)
    case .keyless(var server):
      defer { self = .keyless(server) }
      return server.present(token, life: life, at: time)
    }
  }

  /// Whether `token` belongs to this session.
  package func issued(_ token: RefreshToken) -> Bool { ModelServer.words(of: token.secret, of: session) != nil }

  /// Whether this session's API accepts the token now.
  package func accepts(_ access: Credential, goingByTokenAlone: Bool, at time: UnixTime) -> Bool {
    guard let ends = ModelServer.ends(access, of: session) else { return false }
    if case .keyless(let server) = self, !server.keeps(access) { return false }
    return time.milliseconds < ends && (goingByTokenAlone || isAlive(at: time))
  }

  /// The expiry of a token of `session`; `nil` for any other token.
  package static func ends(_ access: Credential, of session: SessionID) -> Int64? {
    let parts = access.secret.withExposed { $0.split(separator: " ").map(String.init) }
    guard parts.count == 6, parts[0] == "a", parts[2] == session.rawValue else { return nil }
    return Int64(parts[5])
  }

  /// Revokes the session. A third-party server requires a valid token of it.
  package mutating func revoke(with handle: RevocationHandle?, _ reason: EndReason = .revoked, at time: UnixTime) {
    switch self {
    case .keyed(var server):
      server.revoke(reason, at: time)
      self = .keyed(server)
    case .keyless(var server):
      server.revoke(with: handle, reason)
      self = .keyless(server)
    }
  }

  func attempt(_ token: RefreshToken, key: RotationKey?, at time: UnixTime) -> KeyedServer.Attempt? {
    if case .keyed(let server) = self { server.attempt(token, key: key, at: time) } else { nil }
  }

  mutating func commit(
    _ attempt: KeyedServer.Attempt, _ commit: World.Commit, blindly: Bool, at time: UnixTime
  ) -> RefreshResult? {
    guard case .keyed(var server) = self else { return nil }
    defer { self = .keyed(server) }
    return server.commit(attempt, commit, blindly: blindly, at: time)
  }

  var hasUnacknowledged: Bool { if case .keyed(let server) = self { server.hasUnacknowledged } else { false } }

  mutating func failOver(losingEnds: Bool) {
    guard case .keyed(var server) = self else { return }
    server.failOver(losingEnds: losingEnds)
    self = .keyed(server)
  }

  package mutating func loseCommit() {
    guard case .keyed(var server) = self else { return }
    server.loseCommit()
    self = .keyed(server)
  }

  /// The numbers in a token of `session`.
  static func words(of secret: Secret, of session: SessionID) -> (UInt64, UInt64)? {
    let parts = secret.withExposed { $0.split(separator: " ").map(String.init) }
    guard parts.count == 4, parts[1] == session.rawValue, let first = UInt64(parts[2]), let second = UInt64(parts[3])
    else { return nil }
    return (first, second)
  }
}
