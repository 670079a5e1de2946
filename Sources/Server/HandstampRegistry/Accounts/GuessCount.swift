public import HandstampCore
import HandstampSupport

/// The wrong passwords in a row that were tried for one address, and when the next one may be (NIST SP 800-63B section 3.2.2).
///
/// The first ``free`` attempts need not wait. From then on ``pause`` has to pass after each, and after ``most`` attempts
/// ``rest``; then as many as at first are free of the rest. A right password starts over.
public struct GuessCount: Sendable, Hashable {
  /// How many attempts in a row need not wait.
  public static let free = 10
  /// How many wrong passwords in a row are accepted before only ``rest``, a known device or a mailed code helps.
  public static let most = 100
  /// The time between two attempts after the first ones.
  public static let pause = Duration.seconds(30)
  /// How long ``most`` wrong passwords in a row stop further attempts.
  public static let rest = Duration.seconds(86_400)

  public private(set) var count: Int
  public private(set) var last: UnixTime

  /// Returns how long an attempt at `now` has to wait; `nil` if it may be made at once.
  ///
  /// - Parameter pending: attempts that are being checked and are not counted yet. They count as wrong.
  public func wait(at now: UnixTime, pending: Int = 0) -> Duration? {
    let count = effective(at: now) + pending
    guard count >= GuessCount.free else { return nil }
    let passed = max(.zero, now.since(last))
    if self.count >= GuessCount.most, passed < GuessCount.rest { return GuessCount.rest - passed }
    if pending > 0 { return GuessCount.pause }
    return passed < GuessCount.pause ? GuessCount.pause - passed : nil
  }

  /// How long after the last attempt the count is kept: as long as ``free`` a day would have taken. So forgetting gives no more
  /// attempts than there are after ``most``, and a guess at each of many addresses leaves no row for longer.
  public var memory: Duration { GuessCount.rest / GuessCount.free * count }

  private func effective(at now: UnixTime) -> Int {
    guard count >= GuessCount.most, now.since(last) >= GuessCount.rest else { return count }
    return GuessCount.most - GuessCount.free
  }

  /// Returns the count after one more wrong password.
  func adding(at now: UnixTime) -> GuessCount { GuessCount(count: effective(at: now) + 1, last: now) }
}

extension GuessCount {
  /// No attempt yet.
  static let none = GuessCount(count: 0, last: UnixTime(milliseconds: 0))

  var payload: String { "\(count) \(last.milliseconds)" }

  init?(payload: String) {
    let parts = payload.split(separator: " ")
    guard parts.count == 2, let count = Int(parts[0]), count >= 0, let last = Int64(parts[1]) else { return nil }
    self.init(count: count, last: UnixTime(milliseconds: last))
  }
}

extension Registry {
  /// The origin of guesses that are counted together: strangers at one address, or those of one device that the account knows. So a stranger
  /// cannot lock out the owner on a known device, nor does the owner's sign-in there start the strangers' count over.
  public struct GuessSubject: Sendable, Hashable {
    let id: StoredItemID
    /// The subject, by which ``RegistryChange/removeItems(_:subject:)`` finds it. An address is not stored: it may have no account.
    let subject: String

    /// The guesses of strangers. Counted for every address, so that a limit does not reveal which have accounts.
    public init(_ email: EmailAddress) {
      id = StoredItemID(.guesses, "stranger", email.normalized)
      subject = Base64URL.encode(id.bytes)
    }

    public init(_ account: AccountID, on device: DeviceID) {
      id = StoredItemID(.guesses, "device", account.rawValue, device.rawValue)
      subject = account.rawValue
    }

    /// The guesses of one-time passwords, by those who know the password. A new one that was set by mail does not start them over.
    ///
    /// - Parameter device: the device, if the account knows it; `nil` for all others together.
    public init(codesOf account: AccountID, on device: DeviceID?) {
      id = StoredItemID(.guesses, "code", account.rawValue, device?.rawValue ?? "")
      subject = Base64URL.encode(id.bytes)
    }

    /// The changes that start all counts over: the owner proved to read the account's mails.
    static func forgetting(_ account: AccountRecord) -> [RegistryChange] {
      var changes: [RegistryChange] = [.removeItems(.guesses, subject: account.id.rawValue)]
      if let email = account.email { changes.append(.removeItems(.guesses, subject: GuessSubject(email).subject)) }
      return changes
    }
  }

  public func guesses(of subject: GuessSubject, now: UnixTime) async throws(RegistryError) -> GuessCount {
    try await liveItem(subject.id, now: now).flatMap { GuessCount(payload: $0.payload) } ?? .none
  }

  /// Counts a wrong password, and returns the count after it. The audit log gets the 10th and the 100th in a row, not each:
  /// strangers could fill it.
  ///
  /// - Parameters:
  ///   - account: the account whose password was guessed, if there is one.
  ///   - email: the address that was typed; `nil` leaves the first one out of the log as well.
  @discardableResult
  public func countGuess(
    of subject: GuessSubject, account: AccountID? = nil, as email: EmailAddress? = nil, now: UnixTime
  ) async throws(RegistryError) -> GuessCount {
    var count = GuessCount.none
    let stops = { (item: StoredItem) -> [RegistryChange] in
      guard let count = GuessCount(payload: item.payload)?.count else { return [] }
      if count == 1, let email {
        let hash = self.mint.mac(of: email.normalized, for: .logName)
        let details = JSONText([("way", "password"), ("email_hash", hash)])
        return [self.audited(.signInRefused, account: account, details: details.text, at: now)]
      }
      guard [GuessCount.free, GuessCount.most].contains(count) else { return [] }
      return [self.audited(.guessesStopped, account: account, details: #"{"wrong":\#(count)}"#, at: now)]
    }
    try await updateItem(subject.id, now: now, with: stops) { stored in
      count = (stored.flatMap { GuessCount(payload: $0.payload) } ?? .none).adding(at: now)
      return StoredItem(
        id: subject.id, kind: .guesses, subject: subject.subject, payload: count.payload,
        createdAt: stored?.createdAt ?? now,
        expiresAt: now.advanced(by: count.memory))
    }
    return count
  }

  /// Starts over after a right password.
  public func forgetGuesses(of subject: GuessSubject, now: UnixTime) async throws(RegistryError) {
    try await updateItem(subject.id, now: now) { _ in nil }
  }
}
