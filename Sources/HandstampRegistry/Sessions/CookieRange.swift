import HandstampCore

/// The cookies of a browser's session that count: the newest, and those that it has not replaced by its use.
///
/// Each proof of the user makes another cookie. Until the browser presents it, its response may have been lost, so the former one
/// counts; and as the responses to two proofs may arrive in either order, no cookie ends by the use of another that was made while
/// its own response was in flight.
struct CookieRange: Sendable, Hashable {
  /// The counter of the oldest cookie.
  var oldest: UInt64
  /// When the user proved what the oldest cookie shows.
  var provenAt: UnixTime
  /// Whether the browser had the oldest cookie when it got a later one.
  var isReplaced: Bool

  /// Returns whether the oldest cookie ends once a later one is used.
  func ends(at now: UnixTime) -> Bool { isReplaced || now.since(provenAt) >= PendingSession.life }
}

extension SessionRow {
  /// The most cookies that count. A browser that proves it more often without ever presenting one loses the oldest.
  private static let mostCookies: UInt64 = 32

  /// For the session of a browser. Kept in the ring, which has no rotations there: milliseconds, the number of later cookies, and
  /// whether the oldest is replaced, as one mark. Without an entry only the newest cookie counts.
  var cookies: CookieRange {
    get {
      guard kind == .browser, case .keyed(let mark)? = ring.entries.first else {
        return CookieRange(oldest: counter, provenAt: authenticatedAt, isReplaced: false)
      }
      let later = min(mark.rawValue >> 1 & 0x7fff, counter)
      return CookieRange(
        oldest: counter - later, provenAt: UnixTime(milliseconds: Int64(mark.rawValue >> 16)),
        isReplaced: mark.rawValue & 1 == 1)
    }
    set {
      let later = counter - min(newValue.oldest, counter)
      ring =
        later == 0
        ? KeyRing()
        : KeyRing([
          .keyed(
            KeyMark(
              rawValue: UInt64(max(0, newValue.provenAt.milliseconds)) << 16 | min(later, 0x7fff) << 1
                | (newValue.isReplaced ? 1 : 0)))
        ])
    }
  }

  /// When the user proved what a cookie shows; `nil` if the cookie does not count.
  func provenAt(cookie number: UInt64) -> UnixTime? {
    let cookies = cookies
    guard (cookies.oldest...max(cookies.oldest, counter)).contains(number) else { return nil }
    return number == cookies.oldest ? cookies.provenAt : authenticatedAt
  }

  /// How the user proved what a cookie shows. A former cookie, which a thief may have copied, does not tell of the later proof, and the
  /// earlier one is no longer known.
  func methods(shownBy number: UInt64) -> AuthenticationMethods {
    let oldest = cookies.oldest
    return number == oldest && oldest < counter ? [] : methods
  }

  /// Returns the row after another proof of its user, who has presented the cookie `number`.
  func proven(with number: UInt64, by methods: AuthenticationMethods, at now: UnixTime) -> SessionRow {
    var row = self
    var range = cookies
    if number == range.oldest { range.isReplaced = true }
    if counter - range.oldest >= SessionRow.mostCookies {
      range = CookieRange(oldest: range.oldest + 1, provenAt: authenticatedAt, isReplaced: false)
    }
    row.counter += 1
    row.authenticatedAt = now
    row.methods = methods
    row.rotatedAt = now
    row.lastSeenAt = max(row.lastSeenAt, now)
    row.cookies = range
    return row
  }

  /// Returns the row after the use of a cookie; `nil` if it is the same.
  func used(cookie number: UInt64, at now: UnixTime) -> SessionRow? {
    let range = cookies
    guard number > range.oldest, range.ends(at: now) else { return nil }
    var row = self
    row.cookies = CookieRange(oldest: range.oldest + 1, provenAt: authenticatedAt, isReplaced: false)
    return row
  }
}
