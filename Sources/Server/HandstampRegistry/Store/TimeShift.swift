public import HandstampCore

/// A correction of stored times: those in a span were written by a clock that was off by a distance.
///
/// Times in a browser do not move: people who are at a provider in that moment start their sign-in again.
public struct TimeShift: Sendable, Hashable {
  public var span: ClosedRange<UnixTime>
  /// How far to move the times.
  public var distance: Duration

  public init(span: ClosedRange<UnixTime>, distance: Duration) {
    self.span = span
    self.distance = distance
  }

  func moved(_ time: UnixTime) -> UnixTime { span.contains(time) ? time.advanced(by: distance) : time }
}
