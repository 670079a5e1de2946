#if Server
import HandstampCore
import HandstampSupport

extension ServerClock {
  /// A reading of the clock: the server time, and the bounds of the true time while the machine's clock is doubted.
  ///
  /// ``now`` judges and dates what is this server's own. What another issuer has dated is a ``ClaimedTime``, which only both
  /// bounds can judge, and what others will judge has both bounds: ``issueTime`` and ``lifeStart``.
  struct Reading: Sendable, Hashable {
    /// The server time, for checking expiry and for stored times.
    var now: UnixTime
    /// The machine's clock; equal to ``now`` unless it is doubted.
    var wall: UnixTime
    /// How much earlier than ``now`` the agreed time may be.
    var margin = Duration.zero

    init(now: UnixTime, wall: UnixTime, margin: Duration = .zero) {
      (self.now, self.wall, self.margin) = (now, wall, margin)
    }

    /// A reading without a doubt.
    init(exactly time: UnixTime) { self.init(now: time, wall: time) }

    /// The earliest time that it may be. A wall clock that is more than a day behind is ignored: it would accept tokens that
    /// expired long ago, and events again that are no longer remembered, see ``Registry/upstreamEventMemory``.
    var earliest: UnixTime {
      let agreed = now.advanced(by: .zero - margin)
      return wall < agreed && now.since(wall) <= .seconds(86_400) ? wall : agreed
    }
    /// The latest time that it may be.
    var latest: UnixTime { max(now, wall) }

    /// The `iat` and `nbf` of tokens that other machines check: by no clock is it in the future.
    var issueTime: UnixTime { earliest }
    /// The time from which the lives of such tokens count, and the timestamp of messages that must be recent. A wall clock that
    /// is more than a week ahead is ignored: a token that is valid for 100 days is worse than one that is refused for ten
    /// minutes.
    var lifeStart: UnixTime { wall.since(now) <= .seconds(7 * 86_400) ? latest : now }
  }
}

/// A time in a token of another issuer, whose clock may agree with either of two doubtful times: the token has to be valid at
/// one.
///
/// There is no comparison with a bare time.
struct ClaimedTime: Sendable, Hashable, Comparable {
  /// As the issuer says, for what is stored.
  let stated: UnixTime

  init(_ time: UnixTime) { stated = time }

  func advanced(by duration: Duration) -> ClaimedTime { ClaimedTime(stated.advanced(by: duration)) }

  /// Whether it has passed by both clocks, as an `exp` must not have.
  func hasPassed(at time: ServerClock.Reading) -> Bool { stated <= time.earliest }

  /// Whether it is in the future by both clocks, as an `iat` or `nbf` must not be.
  func isAhead(of time: ServerClock.Reading) -> Bool { stated > time.latest }

  /// The server time at which ``hasPassed(at:)`` becomes true: how long a token has to be remembered that counts once.
  func end(at time: ServerClock.Reading) -> UnixTime { stated.advanced(by: time.now.since(time.earliest)) }

  static func < (one: ClaimedTime, other: ClaimedTime) -> Bool { one.stated < other.stated }
}
#endif
