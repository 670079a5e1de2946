import Foundation
import Handstamp
import HandstampCookies

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
    await answer.1?.pass()
    return answer.0
  }
}

/// Holds arriving tasks until it is opened, even if they are cancelled.
// Unchecked: all access is under the lock.
final class Gate: @unchecked Sendable {
  private let lock = NSLock()
  private var isOpen = false
  private var arrivals = 0
  private var held: [CheckedContinuation<Void, Never>] = []
  private var expecting: [CheckedContinuation<Void, Never>] = []

  func pass() async {
    await withCheckedContinuation { continuation in
      lock.lock()
      arrivals += 1
      let expecting = expecting
      self.expecting = []
      let isOpen = isOpen
      if !isOpen { held.append(continuation) }
      lock.unlock()
      for other in expecting { other.resume() }
      if isOpen { continuation.resume() }
    }
  }

  /// Waits until a task has arrived.
  func isReached() async {
    await withCheckedContinuation { continuation in
      lock.lock()
      let isThere = arrivals > 0
      if !isThere { expecting.append(continuation) }
      lock.unlock()
      if isThere { continuation.resume() }
    }
  }

  func open() {
    lock.lock()
    isOpen = true
    let held = held
    self.held = []
    lock.unlock()
    for one in held { one.resume() }
  }
}
