import Crypto
import Foundation
import HandstampSupport

/// The transient failures that an API client remembers, so that callers of the same request do not all send it.
///
/// Requests are identified by a digest under a random key, so that no URL or body can be read from memory. It holds the
/// failures of one session and starts empty with the next.
final class FailureMemory: Sendable {
  /// Identifies a request by method, URL and body, whoever sends it.
  struct Fingerprint: Sendable, Hashable {
    fileprivate let digest: [UInt8]
  }

  /// A failure, an error or a response, as the next caller gets it.
  typealias Failure = Result<TransportResponse, APIError>

  /// The caller's next step.
  enum Turn: Sendable, Hashable {
    /// Send the request and report the outcome to ``FailureMemory/leave(_:generation:_:)``: others wait for it.
    case lead
    /// Send the request: no failure is known.
    case follow
    /// Do not send the request.
    case failed(Failure)
  }

  /// The outcome of the leader's request.
  enum Outcome: Sendable, Hashable {
    /// There is a response, or an error that concerns only this caller.
    case answered
    /// A transient failure, remembered until then.
    case failed(Failure, until: Duration)
    /// No outcome: the caller was cancelled.
    case abandoned
  }

  fileprivate struct Content: Sendable {
    var generation: UInt64 = 0
    var failures: [Fingerprint: (failure: Failure, until: Duration)] = [:]
    var followers: [Fingerprint: [UInt64: CheckedContinuation<Turn?, Never>]] = [:]
    var lastFollower: UInt64 = 0
  }

  /// The largest number of failures that are remembered.
  static let limit = 256
  /// The largest part of a failure's body that is kept, in bytes: enough for a problem document.
  static let bodyLimit = 2048
  private let content = Locked(Content())
  private let key = SymmetricKey(size: .bits256)

  func fingerprint(of request: TransportRequest) -> Fingerprint {
    var mac = HMAC<SHA256>(key: key)
    for part in [Array(request.method.uppercased().utf8), Array(request.url.utf8), request.body] {
      // Preceded by its length, so that no two requests have the same input.
      withUnsafeBytes(of: UInt64(part.count)) { mac.update(data: Data($0)) }
      mac.update(data: part)
    }
    return Fingerprint(digest: Array(mac.finalize()))
  }

  /// Returns the caller's next step; waits while another caller leads. Cancelling the task ends the wait.
  func enter(_ fingerprint: Fingerprint, generation: UInt64, now: Duration) async -> Turn {
    while true {
      if let turn = await join(fingerprint, generation, now) { return turn }
    }
  }

  /// Returns `nil` if the leader was cancelled: then another caller must lead.
  private func join(_ fingerprint: Fingerprint, _ generation: UInt64, _ now: Duration) async -> Turn? {
    let number = content.withLock { content in
      content.lastFollower += 1
      return content.lastFollower
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Turn?, Never>) in
        let (turn, left) = content.withLock { content -> (Turn?, [CheckedContinuation<Turn?, Never>]) in
          let left = content.begin(generation)
          // A request of an earlier session is stopped by the fence, not here.
          if Task.isCancelled || generation < content.generation { return (.follow, left) }
          if let known = content.failures[fingerprint] {
            if now < known.until { return (.failed(known.failure), left) }
            content.failures[fingerprint] = nil
          }
          if content.followers[fingerprint] == nil {
            content.followers[fingerprint] = [:]
            return (.lead, left)
          }
          content.followers[fingerprint]?[number] = continuation
          return (nil, left)
        }
        for follower in left { follower.resume(returning: .follow) }
        if let turn { continuation.resume(returning: turn) }
      }
    } onCancel: {
      let waiting = content.withLock { $0.followers[fingerprint]?.removeValue(forKey: number) }
      waiting?.resume(returning: .follow)
    }
  }

  /// Reports the leader's outcome to the callers that wait.
  func leave(_ fingerprint: Fingerprint, generation: UInt64, _ outcome: Outcome) {
    let waiting = content.withLock { content -> [CheckedContinuation<Turn?, Never>] in
      guard generation == content.generation, let followers = content.followers.removeValue(forKey: fingerprint) else {
        return []
      }
      if case .failed(let failure, let until) = outcome { content.remember(failure, of: fingerprint, until: until) }
      return Array(followers.values)
    }
    for follower in waiting {
      switch outcome {
      case .answered: follower.resume(returning: .follow)
      case .failed(let failure, _): follower.resume(returning: .failed(failure))
      case .abandoned: follower.resume(returning: nil)
      }
    }
  }

  /// Records a failure of a caller that did not lead.
  func note(_ failure: Failure, of fingerprint: Fingerprint, generation: UInt64, until: Duration) {
    content.withLock { content in
      if generation == content.generation { content.remember(failure, of: fingerprint, until: until) }
    }
  }

  /// The number of failures held, expired ones included.
  var count: Int { content.withLock { $0.failures.count } }
}

extension FailureMemory.Content {
  /// Discards the content of an earlier session; returns the callers that wait there.
  fileprivate mutating func begin(_ generation: UInt64) -> [CheckedContinuation<FailureMemory.Turn?, Never>] {
    guard generation > self.generation else { return [] }
    defer {
      failures = [:]
      followers = [:]
    }
    self.generation = generation
    return followers.values.flatMap(\.values)
  }

  fileprivate mutating func remember(
    _ failure: FailureMemory.Failure, of fingerprint: FailureMemory.Fingerprint, until: Duration
  ) {
    failures[fingerprint] = (failure, until)
    guard failures.count > FailureMemory.limit else { return }
    // The failure that expires first is the least useful one.
    if let first = failures.min(by: { $0.value.until < $1.value.until }) { failures[first.key] = nil }
  }
}

extension TransportResponse {
  /// The response without content that may be long or private.
  var remembered: TransportResponse {
    let kept = ["content-type", "retry-after"]
    return TransportResponse(
      status: status, headers: headers.filter { kept.contains($0.name.lowercased()) },
      body: body.count <= FailureMemory.bodyLimit ? body : [])
  }
}
