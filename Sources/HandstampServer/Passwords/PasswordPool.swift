#if Server
import Foundation
public import HandstampCore

/// Where passwords are hashed: on a few threads of its own, behind a bounded line, so that a flood of sign-ins neither takes all
/// memory nor the threads that answer everything else.
///
/// Every attempt costs exactly one hash, whether the account exists or not: the time of an answer tells nothing.
public final class PasswordPool: Sendable {
  /// The line is full, or the memory for a hash cannot be allocated: try again later.
  public struct Busy: Error, Sendable, Hashable {}

  private struct Line {
    /// Those that were admitted, whether they have something to hash yet or not.
    var places = 0
    var running = 0
    var waiting: [@Sendable () -> Void] = []
  }

  private let parameters: Argon2Parameters
  private let width: Int
  private let capacity: Int
  private let metrics: ServerMetrics
  private let line = Locked(Line())

  /// - Parameters:
  ///   - width: how many hashes run at once; each takes the memory that `parameters` says.
  ///   - capacity: how many may wait beside those.
  public init(parameters: Argon2Parameters, width: Int, capacity: Int, metrics: ServerMetrics) {
    self.parameters = parameters
    self.width = max(1, width)
    self.capacity = max(0, capacity)
    self.metrics = metrics
  }

  /// A place in the line. Take it before anything that waits: those who find no place then cost next to nothing.
  public func admit() throws(Busy) -> Place {
    let isAdmitted = line.withLock { line in
      guard line.places < width + capacity else { return false }
      line.places += 1
      return true
    }
    guard isAdmitted else { throw Busy() }
    return Place(pool: self)
  }

  /// The hash to store for a new password.
  public func hash(_ password: Secret) async throws(Busy) -> Secret { try await admit().hash(password) }

  /// Whether `password` belongs to `encoded`. Without anything to compare with, the same work is done and the answer is no.
  public func verify(_ password: Secret, against encoded: Secret?) async throws(Busy) -> Bool {
    try await admit().verify(password, against: encoded)
  }

  /// A place in the line of a pool. It is free again when this is let go of.
  public final class Place: Sendable {
    private let pool: PasswordPool

    fileprivate init(pool: PasswordPool) { self.pool = pool }
    deinit { pool.line.withLock { $0.places -= 1 } }

    /// The hash to store for a new password.
    public func hash(_ password: Secret) async throws(Busy) -> Secret {
      // The place is taken until the work is done, however early an optimiser would let go of it.
      defer { withExtendedLifetime(self) {} }
      return try await pool.perform { [pool] () throws(Argon2Failure) in Secret(try pool.parameters.hash(password)) }
    }

    /// Whether `password` belongs to `encoded`. Without anything to compare with, the same work is done and the answer is no.
    public func verify(_ password: Secret, against encoded: Secret?) async throws(Busy) -> Bool {
      defer { withExtendedLifetime(self) {} }
      return try await pool.perform { [pool] () throws(Argon2Failure) in
        guard let encoded else {
          _ = try pool.parameters.hash(password)
          return false
        }
        return try encoded.withExposed { text throws(Argon2Failure) in
          try Argon2Parameters.verify(password, against: text)
        }
      }
    }
  }

  func perform<Value: Sendable>(
    _ work: @escaping @Sendable () throws(Argon2Failure) -> Value
  ) async throws(Busy) -> Value {
    let value: Value? = await withCheckedContinuation { continuation in
      let job: @Sendable () -> Void = { [metrics] in
        metrics.update { $0.passwordHashes += 1 }
        continuation.resume(returning: try? work())
      }
      let startsThread = line.withLock { line in
        guard line.running < width else {
          line.waiting.append(job)
          return false
        }
        line.running += 1
        return true
      }
      // Neither a queue of Dispatch nor a task: those share their threads with everything else that is to be answered.
      if startsThread { Thread.detachNewThread { self.run(job) } }
    }
    guard let value else { throw Busy() }
    return value
  }

  /// Does one job, and then those that wait, oldest first.
  private func run(_ first: @Sendable () -> Void) {
    PasswordPool.yieldToOthers()
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

  /// Lets the threads that answer requests go first where there are fewer cores than threads with work.
  private static func yieldToOthers() {
    #if os(Linux)
    // Of this thread alone: Linux keeps the value for each.
    setpriority(numericCast(PRIO_PROCESS.rawValue), 0, 10)
    #else
    Thread.current.qualityOfService = .utility
    #endif
  }
}
#endif
