import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A secret` {
  private let secret = Secret("hunter2")

  @Test func `is never printed`() {
    var dumped = ""
    dump([secret], to: &dumped)
    dump(RefreshToken(secret), to: &dumped)
    dump(
      TokenResponse(tokens: TokenSet(access: AccessToken(secret), expiresIn: nil, refresh: RefreshToken(secret))),
      to: &dumped)
    let texts = [
      dumped, "\(secret)", String(reflecting: secret), "\(AccessToken(secret))",
      "\([1: RotationKey(bytes: [UInt8](repeating: 104, count: 16))!])",
      "\(Mirror(reflecting: secret).children.map { "\($0)" })",
      "\(SessionMachine.Event.refreshCompleted(.init(1), .granted(TokenResponse(tokens: TokenSet(access: AccessToken(secret), expiresIn: nil, refresh: nil)))))",
      "\(TransportRequest(method: "POST", url: "https://h/p?token=hunter2", headers: [HeaderField("Authorization", "hunter2")], body: Array("hunter2".utf8)))",
    ]
    for text in texts { #expect(!text.contains("hunter2") && !text.contains("hhhh")) }
    #expect(texts[1] == "<redacted>")
  }

  @Test func `is read only when exposed, byte for byte`() {
    #expect(secret.withExposed { $0 } == "hunter2")
    #expect(secret.withExposedBytes { Array($0) } == Array("hunter2".utf8))
    #expect(secret.count == 7)
    #expect(Secret("").isEmpty)
  }

  @Test func `equals a secret with the same bytes`() {
    #expect(secret == Secret(bytes: Array("hunter2".utf8)))
    #expect(secret != Secret("hunter3"))
    #expect(secret != Secret("hunter22"))
    #expect(Set([secret, Secret("hunter2")]).count == 1)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A rotation key` {
  @Test func `has sixteen bytes and one text form`() {
    var random = SystemRandomNumberGenerator()
    let key = RotationKey(from: &random)
    let text = key.wireText.withExposed { $0 }
    #expect(text.utf8.count == 22)
    #expect(RotationKey(wireText: text) == key)
    #expect(RotationKey(from: &random) != key)
    for wrong in ["", String(text.dropLast()), text + "A", text.dropLast() + "=", text + "AA"] {
      #expect(RotationKey(wireText: String(wrong)) == nil, "\(wrong)")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Base64url` {
  @Test(arguments: [([], ""), ([0xfb], "-w"), ([0xff, 0xfe], "__4"), ([1, 2, 3], "AQID")] as [([UInt8], String)])
  func `encodes and decodes`(bytes: [UInt8], text: String) {
    #expect(Base64URL.encode(bytes) == text)
    #expect(Base64URL.decode(text) == bytes)
  }

  @Test(arguments: [([], ""), ([0xfb], "+w=="), ([0xff, 0xfe], "//4="), ([1, 2, 3], "AQID")] as [([UInt8], String)])
  func `has a sister with another alphabet and padding`(bytes: [UInt8], text: String) {
    #expect(Base64URL.standard(bytes) == text)
  }

  /// Spare bits, padding, the other alphabet, an impossible length.
  @Test(arguments: ["-x", "AQI=", "+w", "A", "AQIDB", "AQ ID", "é"])
  func `accepts one text form per value`(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

  @Test func `decodes 128 bits as it decodes an array`() {
    func decode(_ text: [UInt8]) -> [UInt8]? {
      text.withUnsafeBufferPointer { Base64URL.decode128($0) }.map { high, low in
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
      }
    }
    var generator = SplitMix64(state: 7)
    for _ in 0..<500 {
      let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let text = Array(Base64URL.encode(bytes).utf8)
      #expect(decode(text) == bytes)
      var changed = text
      changed[Int.random(in: 0..<22, using: &generator)] = .random(in: 0...255, using: &generator)
      #expect(decode(changed) == Base64URL.decode(changed))
    }
    for count in 0..<64 where count != 22 { #expect(decode(Array(repeating: 65, count: count)) == nil) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Time` {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (951_782_399, "2000-02-28T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
      (1_800_000_000, "2027-01-15T08:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
    ] as [(Int64, String)])
  func `reads as RFC 3339`(seconds: Int64, text: String) {
    #expect(UnixTime(seconds: seconds).description == text)
  }

  @Test func `saturates at the ends of its range`() {
    #expect(UnixTime(seconds: .max).milliseconds == .max)
    #expect(UnixTime(milliseconds: .max).advanced(by: .seconds(1)).milliseconds == .max)
    #expect(UnixTime(milliseconds: 0).since(UnixTime(milliseconds: .min)) > .zero)
    #expect(UnixTime(milliseconds: .min).description.hasPrefix("-"))
    #expect(UnixTime(milliseconds: .min).seconds < UnixTime(milliseconds: .max).seconds)
    let long = Duration.seconds(Int64.max) * 4
    #expect(long.wholeMilliseconds == .max && (.zero - long).wholeMilliseconds == .min)
  }

  @Test func `is measured by the clock that counts sleep, and is unknown across boots`() {
    #expect(noon.advanced(by: .seconds(3)).elapsed(since: noon) == .seconds(3))
    #expect(Moment(boot: 8, uptime: .seconds(20_000), wall: noon.wall).elapsed(since: noon) == nil)
    #expect(noon.elapsed(since: noon.advanced(by: .nanoseconds(1))) == nil)
    var skewed = noon.advanced(by: .seconds(10))
    skewed.wall = UnixTime(seconds: 5)
    #expect(Lifetime(start: noon, duration: .seconds(60)).remaining(at: skewed) == .seconds(50))
  }

  /// Another machine that shares the home directory, or this one after a restart.
  @Test(
    arguments: [
      // How far its wall clock is ahead of noon, its uptime, the seconds left of a minute.
      (20, 3600, 40), (0, 3600, 60), (-30, 3600, 60), (-61, 3600, 0), (61, 3600, -1), (20, 20, 0), (20, 10, 0),
      (86_400 * 3650, 3600, 0), (-86_400 * 3650, 3600, 0),
    ] as [(Int64, Int64, Int64)])
  func `is known across boots if both clocks agree`(ahead: Int64, uptime: Int64, left: Int64) {
    let there = Moment(boot: 8, uptime: .seconds(uptime), wall: noon.wall.advanced(by: .seconds(ahead)))
    #expect(Lifetime(start: noon, duration: .seconds(60)).remaining(at: there) == .seconds(left))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A policy` {
  @Test func `scales the refresh margin to short lifetimes`() {
    let policy = RefreshPolicy()
    #expect(policy.margin(forLifetime: .seconds(3600)) == .seconds(300))
    #expect(policy.margin(forLifetime: .seconds(600)) == .seconds(120))
    #expect(policy.margin(forLifetime: .seconds(60)) == .seconds(12))
    #expect(policy.margin(forLifetime: .zero) == .zero)
  }

  @Test func `backs off exponentially, jittered, capped, and obeys Retry-After`() {
    let policy = RetryPolicy(base: .milliseconds(250), cap: .seconds(30))
    #expect(policy.delay(afterAttempt: 1, entropy: 0, retryAfter: nil) == .zero)
    for (attempt, bound) in [(1, 0.25), (2, 0.5), (3, 1), (20, 30), (1_000_000, 30)] {
      let delay = policy.delay(afterAttempt: attempt, entropy: .max, retryAfter: nil)
      #expect(delay.inSeconds > bound * 0.99 && delay.inSeconds <= bound)
    }
    #expect(policy.delay(afterAttempt: 1, entropy: 1, retryAfter: .seconds(9)) == .seconds(9))
    #expect(policy.delay(afterAttempt: 1, entropy: 1, retryAfter: .seconds(86_400)) == .seconds(30))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The reason of an end` {
  @Test func `has one spelling`() {
    for reason in EndReason.allCases { #expect(EndReason(rawValue: reason.rawValue) == reason) }
    #expect(EndReason.tokenReuseDetected.rawValue == "token_reuse")
    #expect(EndReason(rawValue: "misused") == nil)
  }

  @Test func `can name a provider, beside its raw value`() {
    let named = EndReason.endedAtProvider("Google")
    #expect(named != .endedAtProvider() && named.rawValue == EndReason.endedAtProvider().rawValue)
    #expect(EndReason(reported: "ended_at_provider", at: "Google") == named)
    #expect(EndReason(reported: "ended_at_provider", at: nil) == .endedAtProvider())
    // Names are shown, in terminals as well.
    for name in ["", "a\u{1B}[2J", "a\u{202E}b", String(repeating: "a", count: 201)] {
      #expect(EndReason(reported: "ended_at_provider", at: name) == .endedAtProvider())
    }
    #expect(EndReason(reported: "revoked", at: "Google") == .revoked)
    #expect(EndReason(reported: "of tomorrow", at: "Google") == .rejected)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Errors` {
  @Test func `know their recovery`() {
    #expect(SessionError.sessionEnded(.tokenReuseDetected).recovery == .signIn)
    #expect(
      SessionError.requestFailed(.network(.timedOut), retryAfter: .seconds(3)).recovery == .retry(after: .seconds(3)))
    #expect(RedirectError.unavailable("no window").recovery == .retry(after: nil))
    #expect(RedirectError.cancelled.sessionError == .cancelled)
    #expect(SessionError.storage(.locked).recovery == .unlockDevice)
    #expect(Recovery(SessionError.noRefreshToken as any Error) == .signIn)
    #expect(Recovery(CancellationError()) == nil)
  }
}
