import Crypto
public import HandstampCore
import HandstampSupport

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
  /// Makes new recovery codes for the account of a browser's user, whom a mail tells. Former ones no longer work.
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
