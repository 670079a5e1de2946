/// How a server hears of events that other servers on the same store have stored.
public struct StoreNews: Sendable {
  /// Yields when there may be new events, also after a time in which they could not be heard. Ends when the store is closed.
  public let arrivals: AsyncStream<Void>
  /// How long a server may rely on ``arrivals`` before it looks for events by itself.
  public let patience: @Sendable () -> Duration

  public init(arrivals: AsyncStream<Void>, patience: @escaping @Sendable () -> Duration) {
    self.arrivals = arrivals
    self.patience = patience
  }
}
