public import HandstampCore
import HandstampSupport

/// An authenticator app that is being set up. Nothing is stored until it has shown its first code.
public struct TOTPSetup: Sendable {
  public let secret: TOTPSecret
  /// The secret for the form that confirms it: only this server reads it, for this session, within ``life``.
  public let sealed: String

  /// How long it can be confirmed.
  public static let life = Duration.seconds(3600)
}

/// The result of checking a one-time password.
public enum TOTPCheck: Sendable, Hashable {
  /// It is right. It counts once the use is written.
  case use(CredentialUse)
  /// It is the one that was accepted last, or an older one.
  case used
  case wrong
}

extension Registry {
  /// Returns the authenticator app of an account; `nil` without one.
  public func totp(of account: AccountID) async throws(RegistryError) -> TOTPRecord? {
    try await item(StoredItemID(.totp, account.rawValue)).flatMap { TOTPRecord($0) }
  }

  /// Draws the secret of a new authenticator app.
  ///
  /// - Parameter session: the session that the owner asked in.
  public func newTOTP(in session: SessionID, now: UnixTime) throws(RegistryError) -> TOTPSetup {
    var source = source
    let secret = TOTPSecret(from: &source)
    let bytes = secret.secret.withExposedBytes { Array($0) }
    let sealed = try mint.seal(
      Secret(bytes: bigEndian(UInt64(bitPattern: now.milliseconds)) + bytes), for: .totp,
      boundTo: Registry.setup(session))
    return TOTPSetup(secret: secret, sealed: sealed)
  }

  /// Reads ``TOTPSetup/sealed``; `nil` if it is not from this session, or too old.
  public func totpSetup(_ sealed: String, in session: SessionID, now: UnixTime) throws(RegistryError) -> TOTPSetup? {
    guard sealed.utf8.count <= 256, let plain = try mint.secret(sealed, for: .totp, boundTo: Registry.setup(session))
    else { return nil }
    let bytes = plain.withExposedBytes { Array($0) }
    let begun = UnixTime(milliseconds: Int64(bitPattern: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }))
    guard bytes.count == 8 + TOTPSecret.count, now.since(begun) < TOTPSetup.life else { return nil }
    return TOTPSetup(secret: TOTPSecret(bytes: bytes.dropFirst(8)), sealed: sealed)
  }

  private static func setup(_ session: SessionID) -> String { "totp setup \(session)" }
  static func totpContext(_ account: AccountID) -> String { "totp \(account)" }

  /// Adds an authenticator app to an account, whose owner a mail tells.
  ///
  /// - Parameters:
  ///   - code: its first one-time password, which counts as used.
  ///   - wall: another time that it may be, while the clock is doubted.
  ///   - session: the session that the owner asked in.
  ///   - replacing: whether it takes the place of the app that the account has.
  /// - Returns: `false` if the code is wrong, or the account has an app that stays.
  /// - Throws: ``RegistryError/accountChanged`` if the session has ended, or the account has changed.
  public func addTOTP(
    _ setup: TOTPSetup, code: String, to account: AccountRecord, in session: SessionID,
    replacing: Bool = false, now: UnixTime, or wall: UnixTime? = nil
  ) async throws(RegistryError) -> Bool {
    guard let step = setup.secret.step(of: code, at: now, or: wall) else { return false }
    let former = replacing ? try await totp(of: account.id) : nil
    var record = TOTPRecord(
      account: account.id, createdAt: now, step: step,
      sealed: try mint.seal(setup.secret.secret, for: .totp, boundTo: Registry.totpContext(account.id)))
    record.lastUsedAt = now
    return try await writeNew(
      [
        .expectSession(session),
        // Replaced, so that a sign-in with the password alone that is under way does not begin a session.
        .replaceAccount(account, expecting: account.revision),
        former.map { .replaceItem(record.item(now: now), expecting: $0.revision) }
          ?? .createItem(record.item(now: now)),
      ] + changed(.totpAdded, .totpAdded, of: account.id, "", now: now), of: account.id, now: now)
  }

  /// Removes the authenticator app of an account, whose owner a mail tells. Sessions go on.
  ///
  /// - Parameter session: the session that the owner asked in; `nil` for an administrator.
  /// - Returns: `false` if there is none.
  /// - Throws: ``RegistryError/accountChanged`` if the session has ended, or the app was used at the same time.
  public func removeTOTP(
    of account: AccountID, in session: SessionID? = nil, now: UnixTime
  ) async throws(RegistryError) -> Bool {
    guard let item = try await item(StoredItemID(.totp, account.rawValue)) else { return false }
    try await writeIfUnchanged(
      (session.map { [.expectSession($0)] } ?? []) + [.removeItem(item)]
        + changed(.totpRemoved, .totpRemoved, of: account, "", now: now),
      events: [RegistryEvent(kind: .credentialChange, account: account, at: now)])
    return true
  }

  /// Checks a one-time password of an account whose password was checked against exactly this record.
  ///
  /// - Parameter wall: another time that it may be, while the clock is doubted: the app has a clock of its own.
  /// - Throws: ``RegistryError/unknownKey(_:)`` if the secret is sealed with a key that this server does not have.
  public func check(
    totp code: String, of account: AccountRecord, _ record: TOTPRecord, now: UnixTime, or wall: UnixTime? = nil
  ) async throws(RegistryError) -> TOTPCheck {
    let context = Registry.totpContext(account.id)
    guard account.id == record.account, let secret = try mint.secret(record.sealed, for: .totp, boundTo: context),
      let step = secret.withExposedBytes({ TOTPSecret(bytes: $0) }).step(of: code, at: now, or: wall)
    else { return .wrong }
    guard step > record.step else { return .used }
    var used = record
    (used.step, used.lastUsedAt, used.sealed) = (step, now, try mint.seal(secret, for: .totp, boundTo: context))
    return .use(
      CredentialUse(
        account: account, way: .passwordAndCode, methods: .passwordAndCode,
        changes: [.replaceItem(used.item(now: now), expecting: record.revision)]))
  }

  /// Returns the authenticator app of an account with its secret, for an export; `nil` without one.
  ///
  /// - Throws: ``RegistryError/unknownKey(_:)`` if the secret is sealed with a key that this server does not have.
  package func movingTOTP(of account: AccountID) async throws(RegistryError) -> MovingTOTP? {
    guard let record = try await totp(of: account) else { return nil }
    guard let secret = try mint.secret(record.sealed, for: .totp, boundTo: Registry.totpContext(account)) else {
      // Without it, the password alone would be enough elsewhere.
      throw .unavailable("the authenticator app of \(account) cannot be read")
    }
    var moving = MovingTOTP(secret.withExposedBytes { TOTPSecret(bytes: $0) })
    (moving.createdAt, moving.lastUsedAt, moving.step) = (record.createdAt, record.lastUsedAt, record.step)
    return moving
  }

  /// The change that gives an authenticator app of another server to an account that has none.
  func creating(_ moving: MovingTOTP, of account: AccountID, now: UnixTime) throws(RegistryError) -> RegistryChange {
    var record = TOTPRecord(
      account: account, createdAt: min(moving.createdAt ?? now, now),
      // A later one would refuse codes to come.
      step: min(moving.step, TOTPSecret.step(at: now) + TOTPSecret.tolerance),
      sealed: try mint.seal(moving.secret.secret, for: .totp, boundTo: Registry.totpContext(account)))
    record.lastUsedAt = moving.lastUsedAt
    return .createItem(record.item(now: now))
  }
}
