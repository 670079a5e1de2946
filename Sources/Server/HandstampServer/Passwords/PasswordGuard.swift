#if Server
import Crypto
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging

/// An attempt to sign in with a password.
struct PasswordAttempt: Sendable {
  var email: EmailAddress
  var password: Secret
  /// The device that it is made on, as the client says; `nil` if it says nothing.
  var device: DeviceID?
  var caller: AccountService.Caller
}

/// Bounds the guessing of passwords, see ``GuessCount``. The counts are in the store, so that neither a restart nor another
/// server on it starts them over.
///
/// A device that the account knows has a count of its own and does not wait for the limit of all clients together, so that a
/// stranger cannot lock the owner out there.
final class PasswordGuard: Sendable {
  private let registry: Registry
  private let limits: RequestLimits
  private let metrics: ServerMetrics
  private static let linesPerMinute = 60
  private let recorded: Locked<(since: UnixTime, count: Int)>
  /// Attempts that are being checked, by whose guesses they are. Without them, many at once would pass before one is counted.
  private let pending: Locked<[Registry.GuessSubject: Int]>

  /// - Parameter previous: a guard whose counts continue in this one.
  init(
    registry: Registry, limits: RequestLimits, metrics: ServerMetrics, continuing previous: PasswordGuard? = nil
  ) {
    recorded = previous?.recorded ?? Locked((UnixTime(milliseconds: 0), 0))
    pending = previous?.pending ?? Locked([:])
    self.registry = registry
    self.limits = limits
    self.metrics = metrics
  }

  /// Runs `check` if one more password may be tried, and counts it if it is wrong.
  ///
  /// - Parameters:
  ///   - account: the account with the address of the attempt; `nil` if there is none.
  ///   - isCode: whether it is a one-time password that is checked, after the right password. Those count apart.
  ///   - check: returns whether the password is right.
  /// - Throws: ``AccountError`` `rate_limited`, with the same text whether or not there is an account.
  func check(
    _ attempt: PasswordAttempt, for account: AccountID?, isCode: Bool = false, at now: UnixTime,
    _ check: (_ isKnownDevice: Bool) async throws -> Bool
  ) async throws -> Bool {
    var (subject, isKnown) = try await subject(of: attempt, account, at: now)
    if isCode, let account { subject = Registry.GuessSubject(codesOf: account, on: isKnown ? attempt.device : nil) }
    try limits.take(.passwords, from: attempt.caller.client, about: attempt.email.normalized, .own)
    let others = pending.withLock { pending in
      defer { pending[subject, default: 0] += 1 }
      return pending[subject, default: 0]
    }
    defer {
      pending.withLock { pending in
        let left = pending[subject, default: 1] - 1
        pending[subject] = left > 0 ? left : nil
      }
    }
    let count = try await registry.guesses(of: subject, now: now)
    if let wait = count.wait(at: now, pending: others) {
      metrics.update { $0.guessesStopped += 1 }
      attempt.caller.logger.notice("Password not checked: too many were wrong", metadata: metadata(of: attempt))
      throw AccountError.rateLimited(
        LimitReached(
          name: "guesses", limit: RateLimit(burst: GuessCount.free, every: GuessCount.pause), wait: wait))
    }
    if !isKnown { try limits.take(.passwords, from: nil, .shared) }
    guard try await check(isKnown) else {
      let count = try await registry.acting(as: .server(from: attempt.caller.client.text))
        .countGuess(
          of: subject, account: account, as: count.count == 0 && !isCode && isRecorded(at: now) ? attempt.email : nil,
          now: now)
      metrics.update { $0.refusedSignIns += 1 }
      var metadata = metadata(of: attempt)
      metadata["handstamp.guesses"] = "\(count.count)"
      attempt.caller.logger.info("Sign-in refused", metadata: metadata)
      return false
    }
    // A sign-in of a stranger to this device proves nothing about the guesses of others, but ends their row.
    if count.count > 0 { try await registry.forgetGuesses(of: subject, now: now) }
    return true
  }

  /// Whether the first wrong password for an address gets a line in the audit log: a minute of guesses at many addresses gets as many
  /// lines as a limit allows, whether there are accounts or not.
  private func isRecorded(at now: UnixTime) -> Bool {
    recorded.withLock { recorded in
      if now.since(recorded.since) >= .seconds(60) || now < recorded.since { recorded = (now, 0) }
      recorded.count += 1
      return recorded.count <= PasswordGuard.linesPerMinute
    }
  }

  private func subject(
    of attempt: PasswordAttempt, _ account: AccountID?, at now: UnixTime
  ) async throws -> (Registry.GuessSubject, isKnown: Bool) {
    let stranger = Registry.GuessSubject(attempt.email)
    guard let device = attempt.device else { return (stranger, false) }
    // Looked up without an account as well, so that the time tells nothing.
    let isKnown = try await registry.knows(device, of: account ?? AccountID(""), now: now)
    guard isKnown, let account else { return (stranger, false) }
    return (Registry.GuessSubject(account, on: device), true)
  }

  private func metadata(of attempt: PasswordAttempt) -> Logger.Metadata {
    [
      "handstamp.address": "\(attempt.caller.client.address.map { "\($0)" } ?? "unknown")",
      "handstamp.email_hash": "\(registry.mint.mac(of: attempt.email.normalized, for: .logName))",
    ]
  }
}
#endif
