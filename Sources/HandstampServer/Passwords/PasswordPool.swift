#if Server
import Dispatch
public import HandstampCore

/// Where passwords are hashed: on a bounded number of threads of its own, behind a bounded queue, so that a flood of
/// sign-ins neither takes all memory nor keeps refreshes from being answered.
///
/// Every attempt costs exactly one hash, whether the account exists or not: the time of an answer tells nothing.
public final class PasswordPool: Sendable {
  /// The queue is full, or the memory for a hash cannot be had: try again later.
  public struct Busy: Error, Sendable, Hashable {}

  private struct Line {
    var running = 0
    var waiting: [@Sendable () -> Void] = []
  }

  private let parameters: Argon2Parameters
  private let width: Int
  private let capacity: Int
  private let metrics: ServerMetrics
  private let line = Locked(Line())
  private let threads = DispatchQueue(label: "handstamp.passwords", attributes: .concurrent)

  /// - Parameters:
  ///   - width: how many hashes run at once; each takes the memory that `parameters` says.
  ///   - capacity: how many may wait beside those.
  public init(parameters: Argon2Parameters, width: Int, capacity: Int, metrics: ServerMetrics) {
    self.parameters = parameters
    self.width = max(1, width)
    self.capacity = max(0, capacity)
    self.metrics = metrics
  }

  /// The hash to store for a new password.
  public func hash(_ password: Secret) async throws(Busy) -> Secret {
    try await perform { [parameters, metrics] () throws(Argon2Failure) in
      metrics.update { $0.passwordHashes += 1 }
      return Secret(try parameters.hash(password))
    }
  }

  /// Whether `password` belongs to `encoded`. With nothing to compare with, the same work is done and the answer is no.
  public func verify(_ password: Secret, against encoded: Secret?) async throws(Busy) -> Bool {
    try await perform { [parameters, metrics] () throws(Argon2Failure) in
      metrics.update { $0.passwordHashes += 1 }
      guard let encoded else {
        _ = try parameters.hash(password)
        return false
      }
      return try encoded.withExposed { text throws(Argon2Failure) in
        try Argon2Parameters.verify(password, against: text)
      }
    }
  }

  private func perform<Value: Sendable>(
    _ work: @escaping @Sendable () throws(Argon2Failure) -> Value
  ) async throws(Busy) -> Value {
    let value: Value? = await withCheckedContinuation { continuation in
      let job: @Sendable () -> Void = { continuation.resume(returning: try? work()) }
      let verdict = line.withLock { line -> Verdict in
        if line.running < width {
          line.running += 1
          return .run
        }
        guard line.waiting.count < capacity else { return .refuse }
        line.waiting.append(job)
        return .wait
      }
      switch verdict {
      case .run: threads.async { self.run(job) }
      case .wait: break
      case .refuse: continuation.resume(returning: nil)
      }
    }
    guard let value else { throw Busy() }
    return value
  }

  private enum Verdict { case run, wait, refuse }

  /// Does one job, and then those that wait, oldest first.
  private func run(_ first: @Sendable () -> Void) {
    first()
    while let next = next() { next() }
  }

  private func next() -> (@Sendable () -> Void)? {
    line.withLock { line in
      guard !line.waiting.isEmpty else {
        line.running -= 1
        return nil
      }
      return line.waiting.removeFirst()
    }
  }
}
#endif
