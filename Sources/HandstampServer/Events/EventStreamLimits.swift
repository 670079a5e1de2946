#if Server
/// How many event streams (`GET /v1/events`) are open at once. More are answered 429 with `Retry-After`.
public struct EventStreamLimits: Sendable, Hashable {
  /// Of one session, at least 1. Default 4; one more ends the oldest.
  public var perSession: Int
  /// Of one account, at least 1. Default 100.
  public var perAccount: Int
  /// Of all accounts, at least 1. Default 16384.
  public var inAll: Int

  public init(perSession: Int = 4, perAccount: Int = 100, inAll: Int = 16_384) {
    self.perSession = max(1, perSession)
    self.perAccount = max(1, perAccount)
    self.inAll = max(1, inAll)
  }
}
#endif
