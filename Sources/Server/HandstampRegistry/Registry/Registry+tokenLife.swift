public import HandstampCore
import HandstampSupport

/// How long access tokens live that any server of the store has issued: after the end of a session, its tokens can be presented
/// for so long to those who verify them by themselves. The setting may be lowered, and servers may differ, so each notes its own.
extension Registry {
  private static let subject = "access token"
  /// How much later than the end of its session a token may have been issued, by a refresh in flight.
  package static let tokenFlight = Duration.seconds(60)
  /// How far the clocks of a store's servers may differ.
  package static let clockDifference = Duration.seconds(300)

  /// Returns the time before which no session can have ended whose tokens may be valid still.
  ///
  /// - Parameter life: the longest life of an access token.
  package static func revocationHorizon(now: UnixTime, life: Duration) -> UnixTime {
    now.advanced(by: .zero - life - tokenFlight - clockDifference)
  }

  /// Notes that a server of the store issues access tokens with that life from now on. Call it before it does, and then
  /// periodically.
  ///
  /// - Parameter interval: the time until the next call, at most.
  public func noteTokenLife(_ life: Duration, every interval: Duration, now: UnixTime) async throws(RegistryError) {
    let item = StoredItem(
      id: StoredItemID(.tokenLife, String(life.wholeMilliseconds)), kind: .tokenLife, subject: Registry.subject,
      payload: String(life.wholeMilliseconds), createdAt: now,
      // Until the last token of a server is over that dies right before the next call.
      expiresAt: now.advanced(by: interval + life + Registry.clockDifference))
    try await write([.putItem(item)])
  }

  /// Returns the longest life of an access token that may be valid still; zero if none was noted.
  public func longestTokenLife(now: UnixTime) async throws(RegistryError) -> Duration {
    try await liveItems(.tokenLife, of: Registry.subject, now: now)
      .compactMap { Int64($0.payload) }.map { .milliseconds($0) }.max() ?? .zero
  }
}
