import Foundation
import Handstamp
import HandstampCookies
import HandstampTesting

@testable import ForumReader

/// A forum with scripted responses, each given once.
// Unchecked: all access is under the lock.
final class Site: Transport, @unchecked Sendable {
  static let base = "https://forum.example.org/"
  static let url = URL(string: base)!
  private let lock = NSLock()
  private var answers: [String: [(TransportResponse, Gate?)]] = [:]
  private var seen: [TransportRequest] = []

  var requests: [TransportRequest] { lock.withLock { seen } }

  /// The number of requests for a page.
  func count(_ path: String) -> Int { requests.count { $0.url.hasPrefix(Site.base + path) } }

  func answer(_ path: String, _ text: String, status: Int = 200, headers: [HeaderField] = [], behind gate: Gate? = nil)
  {
    let response = TransportResponse(status: status, headers: headers, body: Windows1252.encode(text))
    lock.withLock { answers[path, default: []].append((response, gate)) }
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .notConnected("no streams")
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    // A sign-out is delivered at any time, and must not consume the response meant for a sign-in.
    if request.url.hasSuffix("action=logout") { return TransportResponse(status: 200, headers: [], body: []) }
    let path = String(request.url.dropFirst(Site.base.count).prefix { $0 != "?" })
    let answer = lock.withLock { () -> (TransportResponse, Gate?)? in
      seen.append(request)
      guard let first = answers[path]?.first else { return nil }
      answers[path]?.removeFirst()
      return first
    }
    guard let answer else { throw .notConnected("no response was scripted for \(path)") }
    await answer.1?.wait()
    return answer.0
  }
}
