import HandstampSupport

extension TransportResponse {
  /// Returns `Retry-After` (RFC 9110 section 10.2.3), given in seconds or as a date; `nil` if it is missing or not valid.
  ///
  /// A date is measured against the response's own `Date`, so that a wrong device clock does not change the delay. At most a
  /// day.
  ///
  /// - Parameter now: what a date is measured against if the response has none; with `nil` (the default) it is not valid then.
  package func retryDelay(at now: UnixTime? = nil) -> Duration? {
    guard let text = header("Retry-After") else { return nil }
    let day = Duration.seconds(86_400)
    if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
      return Int64(text).map { .seconds(min($0, 86_400)) } ?? day
    }
    guard let time = UnixTime(httpDate: text), let sent = header("Date").flatMap({ UnixTime(httpDate: $0) }) ?? now
    else { return nil }
    return min(max(.zero, time.since(sent)), day)
  }
}
