import Crypto
public import HandstampCore
import HandstampSupport

/// The result of removing a passkey.
public enum PasskeyRemoval: Sendable, Hashable {
  case removed(PasskeyRecord)
  /// It is the only way into the account, which has no password and no identity elsewhere. Nothing changed.
  case isLast
  /// The account has no such passkey.
  case unknown
}

extension Registry {
  /// Returns the passkeys of an account, the oldest first.
  public func passkeys(of account: AccountID) async throws(RegistryError) -> [PasskeyRecord] {
    try await items(.passkey, of: account.rawValue).compactMap { PasskeyRecord($0) }
  }

  /// Returns the passkey with that ID, of whichever account.
  ///
  /// - Parameter id: see ``PasskeyRecord/id``.
  public func passkey(_ id: String) async throws(RegistryError) -> PasskeyRecord? {
    try await item(StoredItemID(.passkey, id)).flatMap { PasskeyRecord($0) }
  }

  /// Adds a passkey to its account, whose owner a mail tells.
  ///
  /// - Parameters:
  ///   - account: as read when the owner asked for it.
  ///   - session: the session that the owner asked in.
  ///   - challenge: the record of the challenge that it was made for, which refuses a second use.
  /// - Returns: `false` if any account has a passkey with this ID, the challenge was used, or there are ``PasskeyRecord/most``.
  /// - Throws: ``RegistryError/accountChanged`` if the session has ended, or the account has changed.
  public func addPasskey(
    _ passkey: PasskeyRecord, to account: AccountRecord, in session: SessionID,
    challenge: OneTimeTokenRecord, now: UnixTime
  ) async throws(RegistryError) -> Bool {
    guard try await passkeys(of: account.id).count < PasskeyRecord.most else { return false }
    let changes: [RegistryChange] =
      [
        .expectSession(session), .expectAccount(account.id, revision: account.revision),
        .createOneTimeToken(challenge), .createItem(passkey.item),
      ] + changed(.passkeyAdded, .passkeyAdded, of: account.id, passkey.name, now: now)
    return try await writeNew(changes, of: account.id, now: now)
  }

  /// Writes a new credential; `false` if it exists.
  ///
  /// - Throws: ``RegistryError/accountChanged`` if the session has ended, or the account has changed.
  func writeNew(
    _ changes: [RegistryChange], of account: AccountID, now: UnixTime
  ) async throws(RegistryError) -> Bool {
    do throws(RegistryStoreError) {
      try await store.write(changes, events: [RegistryEvent(kind: .credentialChange, account: account, at: now)])
      return true
    } catch {
      guard error != .alreadyExists else { return false }
      throw RegistryError(error, changed: .accountChanged, missing: .accountChanged)
    }
  }

  /// Removes a passkey of an account, whose owner a mail tells. Sessions go on.
  ///
  /// - Parameter session: the session that the owner asked in.
  public func removePasskey(
    _ id: String, of account: AccountID, in session: SessionID, now: UnixTime
  ) async throws(RegistryError) -> PasskeyRemoval {
    for _ in 0..<Registry.attempts {
      guard let record = try await self.account(account), record.closedAt == nil else { throw .accountChanged }
      let all = try await passkeys(of: account)
      guard let passkey = all.first(where: { $0.id == id }) else { return .unknown }
      if all.count == 1, record.passwordHash == nil, try await identities(of: record).isEmpty { return .isLast }
      let changes: [RegistryChange] =
        [
          .expectSession(session),
          // Replaced, so that the last passkey and the password, or two passkeys, are not removed at the same time.
          .replaceAccount(record, expecting: record.revision),
          .removeItem(passkey.item),
        ] + changed(.passkeyRemoved, .passkeyRemoved, of: account, passkey.name, now: now)
      if try await writeWays(changes, of: account, in: session, now: now) { return .removed(passkey) }
    }
    throw Registry.contention
  }

  /// Returns the use of a passkey whose signature was verified.
  ///
  /// - Parameters:
  ///   - passkey: as read from this registry, with its counter and its copies after this use.
  ///   - challenge: the record of the challenge that was signed, which refuses a second use.
  /// - Returns: `nil` if its account is closed.
  public func credentialUse(
    for passkey: PasskeyRecord, challenge: OneTimeTokenRecord, now: UnixTime
  ) async throws(RegistryError) -> CredentialUse? {
    guard let account = try await account(passkey.account), account.closedAt == nil else { return nil }
    var used = passkey
    used.lastUsedAt = now
    return CredentialUse(
      account: account, way: .passkey, methods: .passkey(mayBeCopied: passkey.isBackupEligible),
      changes: [.createOneTimeToken(challenge), .replaceItem(used.item, expecting: passkey.revision)])
  }

  /// Records that a user has proved to be the account's owner, without a new session.
  ///
  /// - Throws: ``RegistryError/oneTimeTokenInvalid`` if the credential was used at the same time, or removed;
  ///   ``RegistryError/upstreamEnded`` if the provider has announced an end of what it depends on.
  public func commit(_ use: CredentialUse, now: UnixTime) async throws(RegistryError) {
    let audit = audited(
      .reauthenticated, account: use.account.id, details: JSONText([("way", use.way.rawValue)]).text, at: now)
    let changes = use.changes + (try await expectations(of: use.upstream, now: now)) + [audit]
    guard try await write(changes, []) else { throw .oneTimeTokenInvalid }
  }

  /// Logs that a passkey was refused whose signature is valid, because its counter says that it was copied.
  public func recordRefusal(_ passkey: PasskeyRecord, received: UInt32, now: UnixTime) async throws(RegistryError) {
    let details = #"{"stored":\#(passkey.signCount),"received":\#(received)}"#
    try await write([audited(.passkeyRefused, account: passkey.account, details: details, at: now)])
  }

  /// The changes that log and tell that the ways into an account have changed.
  func changed(
    _ kind: AuditedAction.Kind, _ notice: AccountNotice, of account: AccountID, _ name: String, now: UnixTime
  ) -> [RegistryChange] {
    [audited(kind, account: account, details: JSONText([("name", name)]).text, at: now)]
      + self.notice(notice, of: account, NoticedName(text: name), now: now)
  }
}

/// A code that a person keeps for the day on which there is neither a password nor a passkey at hand. Each works once.
public struct RecoveryCode: Sendable, Hashable {
  /// How many codes an account gets at once.
  public static let count = 10
  /// Crockford's base32: no letter looks like a digit.
  private static let alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
  /// 120 random bits, of which no slow hash is needed (OWASP ASVS 6.5.2).
  private static let characters = 24

  let characters: String

  /// Draws a code from `random`, which must be a cryptographic source.
  init(from random: inout some RandomNumberGenerator) {
    let alphabet = Array(RecoveryCode.alphabet.lowercased().utf8)
    characters = String(
      decoding: randomBytes(RecoveryCode.characters, from: &random).map { alphabet[Int($0 & 31)] }, as: UTF8.self)
  }

  /// Reads a code as it was typed; `o`, `i` and `l` are the digits that they look like.
  ///
  /// Returns `nil` if that cannot be a code.
  public init?(typed: String) {
    let letters = typed.typed(in: RecoveryCode.alphabet + "OIL")
    guard letters.count == RecoveryCode.characters else { return nil }
    characters = String(letters.map { $0 == "O" ? "0" : $0 == "I" || $0 == "L" ? "1" : $0 }).lowercased()
  }

  /// The code in groups of four, with hyphens.
  public var text: String {
    let letters = Array(characters)
    return stride(from: 0, to: letters.count, by: 4).map { String(letters[$0..<min($0 + 4, letters.count)]) }
      .joined(separator: "-")
  }

  /// The stored form.
  func hash(of account: AccountID) -> String {
    Base64URL.encode(SHA256.hash(data: Array("handstamp recovery code \(account) \(characters)".utf8)))
  }

  /// Whether a text can be ``hash(of:)``.
  package static func isHash(_ text: String) -> Bool { Base64URL.decode(text)?.count == SHA256.byteCount }

  static func item(_ hashes: [String], of account: AccountID, now: UnixTime) -> StoredItem {
    StoredItem(
      id: StoredItemID(.recoveryCodes, account.rawValue), kind: .recoveryCodes, subject: account.rawValue,
      payload: hashes.joined(separator: " "), createdAt: now, expiresAt: now.advanced(by: StoredItem.forever))
  }
}

extension Registry {
  /// Makes new recovery codes for the account of a browser's user, whom a mail tells. Previous ones no longer work.
  ///
  /// - Throws: ``RegistryError/accountChanged`` if the session has ended, or the account has changed.
  public func makeRecoveryCodes(
    by user: BrowserSession, now: UnixTime
  ) async throws(RegistryError) -> [RecoveryCode] {
    var source = source
    let codes = (0..<RecoveryCode.count).map { _ in RecoveryCode(from: &source) }
    let account = user.account.id
    let item = RecoveryCode.item(codes.map { $0.hash(of: account) }, of: account, now: now)
    try await writeIfUnchanged(
      user.expectations + [.putItem(item)]
        + changed(.recoveryCodesMade, .recoveryCodesMade, of: account, user.row.device.name, now: now),
      events: [RegistryEvent(kind: .credentialChange, account: account, at: now)])
    return codes
  }

  /// Returns how many recovery codes of an account are unused.
  public func recoveryCodesLeft(of account: AccountID) async throws(RegistryError) -> Int {
    try await recoveryCodeHashes(of: account).count
  }

  /// Returns the hashes of the unused recovery codes of an account, which hold for its ID alone.
  package func recoveryCodeHashes(of account: AccountID) async throws(RegistryError) -> [String] {
    let item = try await item(StoredItemID(.recoveryCodes, account.rawValue))
    return item?.payload.split(separator: " ").map(String.init) ?? []
  }

  private static let noCodes = Array(repeating: String(repeating: "-", count: 43), count: RecoveryCode.count)
    .joined(separator: " ")

  /// Returns the use of a recovery code, of which a mail tells.
  ///
  /// - Parameter device: the name of the device that it is used on.
  /// - Returns: `nil` if the account has no such code, or is closed.
  public func credentialUse(
    for code: RecoveryCode, account: AccountRecord, on device: String, now: UnixTime
  ) async throws(RegistryError) -> CredentialUse? {
    let stored = try await item(StoredItemID(.recoveryCodes, account.id.rawValue))
    // The same work for an account without codes, so that the time does not tell of them.
    let hash = code.hash(of: account.id)
    let payload = stored?.payload ?? Registry.noCodes
    let hashes = payload.split(separator: " ").map(String.init)
    let left = hashes.filter { $0 != hash }
    guard left.count < hashes.count, var item = stored, account.closedAt == nil else { return nil }
    let revision = item.revision
    item.payload = left.joined(separator: " ")
    return CredentialUse(
      account: account, way: .recoveryCode, methods: .recoveryCode,
      changes: [.replaceItem(item, expecting: revision)]
        + changed(.recoveryCodeUsed, .recoveryCodeUsed, of: account.id, device, now: now))
  }
}

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
    let previous = replacing ? try await totp(of: account.id) : nil
    let record = TOTPRecord(
      account: account.id, createdAt: now, lastUsedAt: now, step: step,
      sealed: try mint.seal(setup.secret.secret, for: .totp, boundTo: Registry.totpContext(account.id)))
    return try await writeNew(
      [
        .expectSession(session),
        // Replaced, so that a sign-in with the password alone that is under way does not begin a session.
        .replaceAccount(account, expecting: account.revision),
        previous.map { .replaceItem(record.item(now: now), expecting: $0.revision) }
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
    let record = TOTPRecord(
      account: account, createdAt: min(moving.createdAt ?? now, now), lastUsedAt: moving.lastUsedAt,
      // A later one would refuse codes to come.
      step: min(moving.step, TOTPSecret.step(at: now) + TOTPSecret.tolerance),
      sealed: try mint.seal(moving.secret.secret, for: .totp, boundTo: Registry.totpContext(account)))
    return .createItem(record.item(now: now))
  }
}
