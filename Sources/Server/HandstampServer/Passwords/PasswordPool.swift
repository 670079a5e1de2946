#if Server
import Foundation
public import HandstampCore
import HandstampSupport

/// Hashes passwords on a few dedicated threads behind a bounded queue, so that a flood of sign-ins takes neither all memory
/// nor the threads that serve other requests.
///
/// Every attempt costs exactly one hash, whether the account exists or not, so the response time reveals nothing.
public final class PasswordPool: Sendable {
  private struct Line {
    /// The number of admitted requests, whether they are hashing yet or not.
    var places = 0
    var running = 0
    /// Attempts on devices that their account knows.
    var preferred: [@Sendable () -> Void] = []
    var waiting: [@Sendable () -> Void] = []

    /// How many preferred ones in a row went ahead of the others.
    var ahead = 0

    mutating func next() -> (@Sendable () -> Void)? {
      if !preferred.isEmpty, waiting.isEmpty || ahead < PasswordPool.mostAhead {
        ahead += 1
        return preferred.removeFirst()
      }
      ahead = 0
      return waiting.isEmpty ? nil : waiting.removeFirst()
    }
  }

  /// After so many preferred attempts one of the others has its turn: a steady load of known devices would otherwise let no one in
  /// on a new one.
  private static let mostAhead = 3
  /// How many preferred attempts may wait beyond the capacity.
  private static let reserve = 16

  private let parameters: Argon2Parameters
  private let width: Int
  private let capacity: Int
  private let metrics: ServerMetrics
  private let line = Locked(Line())

  /// - Parameters:
  ///   - width: how many hashes run at once; each takes the memory given by `parameters`.
  ///   - capacity: how many further hashes may wait.
  public init(
    parameters: Argon2Parameters = .recommended, width: Int = 1, capacity: Int = 64,
    metrics: ServerMetrics = ServerMetrics()
  ) {
    self.parameters = parameters
    self.width = max(1, width)
    self.capacity = max(0, capacity)
    self.metrics = metrics
  }

  /// Reserves a place in the queue. Call it before any other waiting, so that refused requests cost almost nothing.
  public func admit() throws(PasswordHashError) -> Place { try admit(isPreferred: false) }

  /// - Parameter isPreferred: whether its hashes go ahead of the others, three for each of them, with some places kept for it: a
  ///   flood of strangers must not keep owners out.
  func admit(isPreferred: Bool) throws(PasswordHashError) -> Place {
    let isAdmitted = line.withLock { line in
      guard line.places < width + capacity + (isPreferred ? PasswordPool.reserve : 0) else { return false }
      line.places += 1
      return true
    }
    guard isAdmitted else { throw .busy }
    return Place(pool: self, isPreferred: isPreferred)
  }

  /// The number of admitted requests, whether they are hashing yet or not.
  var places: Int { line.withLock { $0.places } }
  /// Whether a thread of it computes.
  var isBusy: Bool { line.withLock { $0.running > 0 } }
  /// The number of hashes that wait for a thread.
  var queued: Int { line.withLock { $0.preferred.count + $0.waiting.count } }

  /// Returns the hash to store for a new password.
  public func hash(_ password: Secret) async throws(PasswordHashError) -> Secret { try await admit().hash(password) }

  /// Returns whether `password` matches `encoded`. If `encoded` is `nil`, does the same work and returns `false`.
  public func verify(_ password: Secret, against encoded: Secret?) async throws(PasswordHashError) -> Bool {
    try await admit().verify(password, against: encoded)
  }

  /// Returns whether a stored hash that `password` has matched is weaker than new ones: of other parameters, or of another system.
  func isWeaker(_ encoded: Secret, of password: Secret) -> Bool {
    guard let stored = encoded.withExposed({ Argon2Parameters(encoded: $0) }) else {
      return PasswordHashes.isReplaceable(encoded, by: password)
    }
    return stored.memory < parameters.memory || stored.passes < parameters.passes
  }

  /// A place in the queue of a pool, freed when this object is released.
  public final class Place: Sendable {
    private let pool: PasswordPool
    private let isPreferred: Bool

    fileprivate init(pool: PasswordPool, isPreferred: Bool) {
      self.pool = pool
      self.isPreferred = isPreferred
    }
    deinit { pool.line.withLock { $0.places -= 1 } }

    /// Returns the hash to store for a new password.
    public func hash(_ password: Secret) async throws(PasswordHashError) -> Secret {
      // Keep the place until the work is done; the optimiser might release it earlier.
      defer { withExtendedLifetime(self) {} }
      return try await pool.perform(isPreferred: isPreferred) { [pool] () throws(PasswordHashError) in
        Secret(try pool.parameters.hash(password.canonical))
      }
    }

    /// Returns whether `password` matches `encoded`. If `encoded` is `nil`, does the same work and returns `false`.
    public func verify(_ password: Secret, against encoded: Secret?) async throws(PasswordHashError) -> Bool {
      defer { withExtendedLifetime(self) {} }
      return try await pool.perform(isPreferred: isPreferred) { [pool] () throws(PasswordHashError) in
        let canonical = password.canonical
        guard let encoded else {
          _ = try pool.parameters.hash(canonical)
          if canonical != password { _ = try pool.parameters.hash(password) }
          return false
        }
        if try PasswordHashes.verify(canonical, against: encoded, own: pool.parameters) { return true }
        // Those of other systems are of the password as it was typed.
        if canonical != password, try PasswordHashes.verify(password, against: encoded, own: pool.parameters) {
          return true
        }
        // No less work than for an unknown account.
        if encoded.withExposed({ Argon2Parameters(encoded: $0) }) == nil { _ = try pool.parameters.hash(canonical) }
        return false
      }
    }
  }

  func perform<Value: Sendable>(
    isPreferred: Bool = false, _ work: @escaping @Sendable () throws(PasswordHashError) -> Value
  ) async throws(PasswordHashError) -> Value {
    let result: Result<Value, PasswordHashError> = await withCheckedContinuation { continuation in
      let job: @Sendable () -> Void = { [metrics] in
        metrics.update { $0.passwordHashes += 1 }
        do throws(PasswordHashError) {
          continuation.resume(returning: .success(try work()))
        } catch { continuation.resume(returning: .failure(error)) }
      }
      let startsThread = line.withLock { line in
        guard line.running < width else {
          if isPreferred { line.preferred.append(job) } else { line.waiting.append(job) }
          return false
        }
        line.running += 1
        return true
      }
      // Neither a Dispatch queue nor a task: they share their threads with all other requests.
      if startsThread {
        let thread = Thread { self.run(job) }
        // Threads serving requests go first when cores are scarce.
        thread.qualityOfService = .utility
        thread.start()
      }
    }
    return try result.get()
  }

  /// Runs one job, then the waiting ones: three preferred ones for one of the others, each kind oldest first.
  private func run(_ first: @Sendable () -> Void) {
    #if os(Linux)
    // Where this value is per thread, and Foundation has no quality of service.
    setpriority(numericCast(PRIO_PROCESS.rawValue), 0, 10)
    #endif
    first()
    while let next = next() { next() }
  }

  private func next() -> (@Sendable () -> Void)? {
    line.withLock { line in
      let next = line.next()
      if next == nil { line.running -= 1 }
      return next
    }
  }
}
extension Secret {
  /// The text in Unicode's normalization form C (RFC 8265 section 4.2.2): keyboards compose characters differently. Other bytes
  /// stay as they are.
  fileprivate var canonical: Secret {
    let isASCII = withExposedBytes { $0.allSatisfy { $0 < 128 } }
    return isASCII ? self : withExposed { Secret($0.precomposedStringWithCanonicalMapping) }
  }
}
#endif
