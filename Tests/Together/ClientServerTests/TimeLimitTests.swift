#if Programs
import Foundation
import Handstamp
import HandstampRegistry
import HandstampServer
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Time limits` {
  private static let policy = RefreshPolicy()
  private static let requestTimeout = TransportRequest(method: "GET", url: "https://example.org").timeout
  private static let overlaps: [Duration] = [3, 5, 10, 30, 60, 120, 86_400].map { .seconds($0) }

  /// Each row of the page, by its name.
  private static let rows: [(String, Bool)] = [
    ("overlap, one loss", policy.responseTimeout < RefreshTerms.overlap),
    ("overlap, tokens", RefreshTerms.overlap <= ServerConfiguration(issuer: "https://example.org").accessTokenLife / 2),
    (
      "silence, two losses",
      overlaps.allSatisfy { overlap in
        rule(overlap).patience(sinceFirst: .zero) + rule(overlap).patience(sinceFirst: overlap / 3) < overlap
      }
    ),
    (
      "pause",
      overlaps.allSatisfy { overlap in
        (1...12).allSatisfy { number in
          let age = overlap * (Double(number - 1) / 12)
          let pause = rule(overlap).pause(before: number, sinceFirst: age, retryAfter: nil, entropy: .max)
          return pause <= (overlap - age) / 3 + .nanoseconds(1)
        }
      }
    ),
    ("key", keyed.patience < policy.responseTimeout),
    (
      "patience",
      ([nil, .never, .predecessor, .notRotated] + overlaps.map { .overlap($0) } as [RefreshTokenReuse?]).allSatisfy {
        reuse in
        let rule = RepeatRule(reuse: reuse, timeout: policy.responseTimeout)
        return [nil, .zero, .seconds(1000)].allSatisfy { rule.patience(sinceFirst: $0) <= policy.responseTimeout }
      }
    ),
    ("exit", policy.responseTimeout <= UnstoredRefreshes.limit),
    ("staleness", SessionMachine.staleness <= policy.responseTimeout / 2),
    ("lock", SessionMachine.lockPatience < policy.responseTimeout),
    ("look", RepeatRule.look <= .seconds(3) - RepeatRule.pause),
    ("sign-in", requestTimeout < SignInTurn.patience),
    ("code", requestTimeout < CodeGrant.life),
  ]

  private static var keyed: RefreshRequest {
    var random = SystemRandomNumberGenerator()
    var request = RefreshRequest(token: RefreshToken("token"), key: RotationKey(from: &random))
    request.isRepeatable = true
    return request
  }

  private static func rule(_ overlap: Duration) -> RepeatRule {
    RepeatRule(reuse: .overlap(overlap), timeout: policy.responseTimeout)
  }

  @Test func `that meet keep their inequalities, and the page names every one of them`() throws {
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "../../docs/time-limits.md"),
      encoding: .utf8)
    let named = page.split(separator: "\n").compactMap { line -> String? in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return cells.count == 4 && cells[0] != "row" && !cells[0].hasPrefix("-") ? cells[0] : nil
    }
    #expect(named == Self.rows.map(\.0))
    for (name, isKept) in Self.rows { #expect(isKept, "\(name)") }
  }
}
#endif
