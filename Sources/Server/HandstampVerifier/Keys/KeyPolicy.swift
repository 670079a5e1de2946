#if Verifier
/// How long an issuer's keys are used, and how often they are fetched.
///
/// A key that the issuer removes stops verifying at most twice ``lives`` later, in the time that the issuer's `Cache-Control` asks
/// for; while the issuer cannot be reached, ``absence`` after the last fetch.
public struct KeyPolicy: Sendable, Hashable {
  /// The limits of the cache lifetime, whatever the issuer says. Default 10 s to 1 h.
  public var lives: ClosedRange<Duration>
  /// How long keys are used after the last successful fetch, while the issuer cannot be reached. Default 24 h.
  public var absence: Duration
  /// The least time between two fetches, however many unknown keys the tokens name. Default 10 s, at least 1 s. After a failure
  /// ``TokenVerifier/run()`` tries again sooner at first.
  public var pause: Duration

  public init(
    lives: ClosedRange<Duration> = .seconds(10)...(.seconds(3600)), absence: Duration = .seconds(86_400),
    pause: Duration = .seconds(10)
  ) {
    self.lives = lives
    self.absence = max(.zero, absence)
    self.pause = max(.seconds(1), pause)
  }
}
#endif
