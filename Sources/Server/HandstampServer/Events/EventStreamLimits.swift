#if Server
/// How many event streams (`GET /v1/events`, `GET /v1/revocations`) are open at once. More are answered 429 with `Retry-After`.
public struct EventStreamLimits: Sendable, Hashable {
  /// Of one session, at least 1. Default 4; one more ends the oldest.
  public var perSession: Int
  /// Of one account, at least 1. Default 100.
  public var perAccount: Int
  /// Of all accounts, at least 1. Default 16384.
  public var inAll: Int
  /// Of verifiers, which follow the end of all sessions, at least 1. Default 1024.
  public var verifiers: Int

  public init(perSession: Int = 4, perAccount: Int = 100, inAll: Int = 16_384, verifiers: Int = 1024) {
    self.perSession = max(1, perSession)
    self.perAccount = max(1, perAccount)
    self.inAll = max(1, inAll)
    self.verifiers = max(1, verifiers)
  }
}
#endif
