import HandstampCore
import HandstampSupport

extension TimeShift {
  /// The values of the three parameters of each of ``statements(schema:mark:least:)``.
  package var values: [Int64] {
    [span.lowerBound.milliseconds, span.upperBound.milliseconds, distance.wholeMilliseconds]
  }

  /// The SQL that moves the times of live sessions, one-time tokens and items.
  ///
  /// - Parameters:
  ///   - schema: precedes the names of tables.
  ///   - mark: precedes the number of a parameter.
  ///   - least: the function that returns the smaller of two values.
  package static func statements(schema: String = "", mark: String, least: String) -> [String] {
    let span = "BETWEEN \(mark)1 AND \(mark)2"
    func moved(_ column: String, if time: String) -> String {
      "\(column) + CASE WHEN \(time) \(span) THEN \(mark)3 ELSE 0 END"
    }
    let absolute = moved("absolute_expiry", if: "created_at")
    let idle = "\(moved("last_seen_at", if: "last_seen_at")) + idle_limit"
    let times = ["created_at", "rotated_at", "last_seen_at", "authenticated_at", "oldest_cookie_at"]
    return [
      """
      UPDATE \(schema)session SET \(times.map { "\($0) = \(moved($0, if: $0))" }.joined(separator: ", ")),
        absolute_expiry = \(absolute), expiry = \(least)(coalesce(\(absolute), \(idle)), coalesce(\(idle), \(absolute))),
        revision = revision + 1
      WHERE ended_at IS NULL AND (\(times.map { "\($0) \(span)" }.joined(separator: " OR ")))
      """,
      """
      UPDATE \(schema)one_time_token SET created_at = created_at + \(mark)3, expires_at = expires_at + \(mark)3
      WHERE created_at \(span)
      """,
      """
      UPDATE \(schema)stored_item SET created_at = created_at + \(mark)3, due_at = due_at + \(mark)3,
        expires_at = expires_at + \(mark)3, revision = revision + 1
      WHERE created_at \(span)
      """,
    ]
  }
}
