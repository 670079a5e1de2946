import Crypto
import Foundation

/// What an API client remembers of failures in passing, so that those who ask the same do not all ask.
///
/// It knows requests by a digest under a key of its own, drawn at random: nobody reads an address or a body out of it. It
/// holds failures of one session; with the next one it begins anew.
final class FailureMemory: Sendable {
  /// Names a request: method, address and body, whoever sends it.
  struct Fingerprint: Sendable, Hashable {
    fileprivate let digest: [UInt8]
  }

  /// A failure, as the next caller gets it.
  enum Failure: Sendable, Hashable {
    case noAnswer(TransportError)
    case status(TransportResponse)
  }

  /// What a caller is to do.
  enum Turn: Sendable, Hashable {
    /// Ask, and tell the outcome by ``FailureMemory/leave(_:generation:_:)``: others wait for it.
    case lead
    /// Ask: nothing is known to be wrong.
    case follow
    /// Do not ask.
    case failed(Failure)
  }

  /// How it went for the one who asked.
  enum Outcome: Sendable, Hashable {
    /// There is an answer, or an error that is the caller's alone.
    case answered
    /// It failed in passing, and will be remembered until then.
    case failed(Failure, until: Duration)
    /// Nobody knows: the caller went away.
    case deserted
  }

  fileprivate struct Content: Sendable {
    var generation: UInt64 = 0
    var failures: [Fingerprint: (failure: Failure, until: Duration)] = [:]
    var followers: [Fingerprint: [UInt64: CheckedContinuation<Turn?, Never>]] = [:]
    var lastFollower: UInt64 = 0
  }

  /// The most failures that are remembered.
  static let limit = 256
  /// The most of a failure's body that is kept: enough for a problem document.
  static let bodyLimit = 2048
  private let content = Locked(Content())
  private let key = SymmetricKey(size: .bits256)

  func fingerprint(of request: TransportRequest) -> Fingerprint {
    var mac = HMAC<SHA256>(key: key)
    for part in [Array(request.method.uppercased().utf8), Array(request.url.utf8), request.body] {
      // With its length before it, so that no two requests read the same.
      withUnsafeBytes(of: UInt64(part.count)) { mac.update(data: Data($0)) }
      mac.update(data: part)
    }
    return Fingerprint(digest: Array(mac.finalize()))
  }

  /// Asks what to do; waits while somebody else asks the same. A cancelled task waits no longer.
  func enter(_ fingerprint: Fingerprint, generation: UInt64, now: Duration) async -> Turn {
    while true {
      if let turn = await join(fingerprint, generation, now) { return turn }
    }
  }

  /// Nothing when the one who asked went away: then somebody else must.
  private func join(_ fingerprint: Fingerprint, _ generation: UInt64, _ now: Duration) async -> Turn? {
    let number = content.withLock { content in
      content.lastFollower += 1
      return content.lastFollower
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Turn?, Never>) in
        let (turn, left) = content.withLock { content -> (Turn?, [CheckedContinuation<Turn?, Never>]) in
          let left = content.begin(generation)
          // Whoever was sent for a former session is stopped by the fence, not here.
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

  /// The one who leads tells those who wait.
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
      case .deserted: follower.resume(returning: nil)
      }
    }
  }

  /// Somebody who did not lead met a failure.
  func note(_ failure: Failure, of fingerprint: Fingerprint, generation: UInt64, until: Duration) {
    content.withLock { content in
      if generation == content.generation { content.remember(failure, of: fingerprint, until: until) }
    }
  }

  /// How many failures are held, those that are over included.
  var count: Int { content.withLock { $0.failures.count } }
}

extension FailureMemory.Content {
  /// Forgets everything of a former session; returns those who wait there.
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
    // The one that is over first is missed least.
    if let first = failures.min(by: { $0.value.until < $1.value.until }) { failures[first.key] = nil }
  }
}

extension FailureMemory.Failure {
  /// Without what might be long or private.
  init(_ response: TransportResponse) {
    let kept = ["content-type", "retry-after"]
    self = .status(
      TransportResponse(
        status: response.status, headers: response.headers.filter { kept.contains($0.name.lowercased()) },
        body: response.body.count <= FailureMemory.bodyLimit ? response.body : []))
  }
}
