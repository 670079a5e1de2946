package import HandstampCore

/// The cookies of a browser's session that count: the newest, and those that it has not replaced by its use.
///
/// Each proof of the user makes another cookie. Until the browser presents it, its response may have been lost, so the previous one
/// counts; and as the responses to two proofs may arrive in either order, no cookie ends by the use of another that was made while
/// its own response was in flight.
package struct CookieRange: Sendable, Hashable {
  /// The counter of the oldest cookie.
  package var oldest: UInt64
  /// When the user proved what the oldest cookie shows.
  package var provenAt: UnixTime
  /// Whether the browser had the oldest cookie when it got a later one.
  package var isReplaced: Bool

  package init(oldest: UInt64, provenAt: UnixTime, isReplaced: Bool = false) {
    (self.oldest, self.provenAt, self.isReplaced) = (oldest, provenAt, isReplaced)
  }

  /// Returns whether the oldest cookie ends once a later one is used.
  func ends(at now: UnixTime) -> Bool { isReplaced || now.since(provenAt) >= PendingSession.life }
}

extension SessionRow {
  /// The most cookies that count. A browser that proves it more often without ever presenting one loses the oldest.
  private static let mostCookies: UInt64 = 32

  /// The cookies that count. Without others, the newest is the oldest.
  private var range: CookieRange { cookies ?? CookieRange(oldest: counter, provenAt: authenticatedAt) }

  /// When the user proved what a cookie shows; `nil` if the cookie does not count.
  func provenAt(cookie number: UInt64) -> UnixTime? {
    guard (range.oldest...max(range.oldest, counter)).contains(number) else { return nil }
    return number == range.oldest ? range.provenAt : authenticatedAt
  }

  /// How the user proved what a cookie shows. A previous cookie, which a thief may have copied, does not tell of the later proof, and the
  /// earlier one is no longer known.
  func methods(shownBy number: UInt64) -> AuthenticationMethods { number == cookies?.oldest ? [] : methods }

  /// Returns the row after another proof of its user, who has presented the cookie `number`.
  func proven(with number: UInt64, by methods: AuthenticationMethods, at now: UnixTime) -> SessionRow {
    var row = self
    var range = range
    if number == range.oldest { range.isReplaced = true }
    if counter >= range.oldest + SessionRow.mostCookies {
      range = CookieRange(oldest: range.oldest + 1, provenAt: authenticatedAt)
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
    guard let cookies, number > cookies.oldest, cookies.ends(at: now) else { return nil }
    var row = self
    row.cookies =
      cookies.oldest + 1 < counter ? CookieRange(oldest: cookies.oldest + 1, provenAt: authenticatedAt) : nil
    return row
  }
}
