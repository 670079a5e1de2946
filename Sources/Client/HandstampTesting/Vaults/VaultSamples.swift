package import HandstampCore

/// Sample values for vault tests. Equal arguments give equal values.
package enum VaultSamples {
  /// A moment, `seconds` after a fixed one.
  package static func moment(_ seconds: Int64 = 0) -> Moment {
    Moment(
      boot: 0x1234_5678_9abc_def0, uptime: .seconds(1000 + seconds) + .nanoseconds(7),
      wall: UnixTime(milliseconds: 1_795_226_288_123 + seconds * 1000))
  }

  /// A rotation key that repeats one byte.
  package static func key(_ byte: UInt8) -> RotationKey? {
    RotationKey(bytes: [UInt8](repeating: byte, count: RotationKey.byteCount))
  }

  package static func access(_ name: String = "access") -> StoredAccess {
    StoredAccess(
      token: AccessToken("\(name)-token"), lifetime: Lifetime(start: moment(), duration: .seconds(600)))
  }

  /// A response with ``access(_:)`` to a refresh with `sent`.
  package static func refreshed(
    _ sent: RefreshToken, to next: RefreshToken?, _ name: String = "access"
  ) -> RefreshedTokens {
    let tokens = TokenSet(access(name).credential, expiresIn: .seconds(600), refresh: next)
    return RefreshedTokens(TokenResponse(tokens: tokens), sent: sent, since: moment())
  }

  /// Cookies that differ by `value`.
  package static func cookies(_ value: String) -> StoredAccess {
    StoredAccess(.cookies(Secret("id=\(value)")))
  }

  /// A session as after a sign-in; its tokens are named after it.
  package static func session(_ name: String = "s1") -> StoredSession {
    StoredSession(
      id: SessionID(name), profile: Profile(id: AccountID("ada"), name: "Ada Lovelace"),
      refresh: RefreshToken("\(name)-refresh-0"), revocation: RevocationHandle("\(name)-revocation"),
      access: access(name), startedAt: moment(), activeAt: moment(1))
  }

  /// Sessions with different sets and kinds of values.
  package static let oddSessions: [StoredSession] = {
    var bare = session("bare")
    bare.refresh = nil
    bare.revocation = nil
    bare.access = nil
    var endless = session("endless")
    endless.access?.lifetime = nil
    endless.profile?.isAnonymous = true
    endless.issuer = "https://id.example.org/ü"
    endless.idToken = StoredIDToken(
      Secret(String(repeating: "x", count: 3000)), lifetime: Lifetime(start: endless.startedAt, duration: .seconds(600))
    )
    endless.targeted = [
      TokenTarget(scopes: ["b", "a"], resource: "https://api.example.org"): access("api"),
      TokenTarget(audience: "ü"): access(String(repeating: "y", count: 3000)),
    ]
    var foreign = session("ünï-cødé 🔑 \u{0}\n")
    foreign.profile = Profile(id: AccountID(""), name: "A\u{308}da / ../../etc \u{202e}")
    foreign.refresh = RefreshToken(Secret(bytes: [0, 255, 128, 10, 0]))
    foreign.access?.credential = .accessToken(AccessToken(Secret(bytes: [])))
    foreign.pendingKey = key(0)
    var large = session("large")
    large.access?.credential = .accessToken(AccessToken(String(repeating: "x", count: 16_000)))
    var extreme = session("extreme")
    extreme.startedAt = Moment(boot: .max, uptime: .seconds(Int64.max), wall: UnixTime(milliseconds: .min + 1000))
    extreme.activeAt = Moment(boot: 0, uptime: .seconds(Int64.min), wall: UnixTime(milliseconds: .max))
    extreme.access?.lifetime?.duration = Duration(secondsComponent: -3, attosecondsComponent: -7)
    var onCookies = session("cookies")
    onCookies.refresh = nil
    onCookies.access = cookies("1")
    return [session("plain"), bare, endless, foreign, large, extreme, onCookies]
  }()
}
