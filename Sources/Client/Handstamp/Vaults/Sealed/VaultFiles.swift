import Crypto
import HandstampCore
import HandstampSupport

/// The names of an account's files.
struct VaultFiles {
  static let storeLock = "store.lock"
  static let turnLock = "turn.lock"
  static let vaultEnding = ".vault"
  static let auditEnding = ".audit"
  static let olderAuditEnding = ".audit-older"
  static let signInEnding = ".sign-in"
  static let partialEnding = ".partial"
  static let backupTag = "CACHEDIR.TAG"

  /// The sealed file.
  let vault: String
  /// Reserved space, large enough for the next sealed file.
  let room: String
  /// The lock file, which holds the last revision when there is no sealed file.
  let flightLock: String
  /// The lock of sign-ins.
  let signInLock: String
  /// The lock of an attempt; only while there is one, or after its sender has died.
  let attempt: String
  /// Replaced after every write that goes to no file: the watched file of a keychain vault.
  let signal: String
  /// The newer and older half of the audit log, a torn line left by a killed program, and the lock of all three.
  let audit: String
  let olderAudit: String
  let tornAudit: String
  let auditLock: String
  let aside: String

  /// Uses a digest, because IDs may be longer than file names can be, differ only in case, or contain a slash.
  init(account: AccountID) {
    let name = VaultFiles.digest(of: account)
    vault = name + VaultFiles.vaultEnding
    room = name + ".room"
    flightLock = name + ".lock"
    signInLock = name + VaultFiles.signInEnding
    attempt = name + ".attempt"
    signal = name + ".changed"
    audit = name + VaultFiles.auditEnding
    olderAudit = name + VaultFiles.olderAuditEnding
    tornAudit = name + ".audit-torn"
    auditLock = name + ".audit-lock"
    aside = name + ".corrupt-"
  }

  /// The file of a lock of the account.
  func lock(_ kind: VaultLockKind) -> String { kind == .refresh ? flightLock : signInLock }

  /// Whether any of these files needs the folder's key: a vault, or an audit log. While there is one, no other key is created.
  static func needKey(_ names: [String]) -> Bool { names.contains(where: needsKey) }

  static func needsKey(_ name: String) -> Bool {
    [vaultEnding, auditEnding, olderAuditEnding].contains { name.hasSuffix($0) }
  }

  static func digest(of account: AccountID) -> String {
    Hexadecimal.text(SHA256.hash(data: Array(account.rawValue.utf8)).prefix(20))
  }

  /// Returns a new name for a file that is being written.
  static func newPartial() -> String { "\(UInt64.random(in: 0 ... .max))\(partialEnding)" }

  /// Returns bytes that no file system can compress or share with another file.
  static func filling(_ count: Int) -> [UInt8] {
    var state = UInt64.random(in: 0 ... .max)
    return (0..<count).map { _ in
      // Knuth's linear congruential generator; secrecy is not needed.
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 56)
    }
  }

  /// Returns the first free name of a broken file: the beginning, and a number.
  static func free(_ beginning: String, among names: [String]) -> String {
    var number = 1
    while names.contains(beginning + String(number)) { number += 1 }
    return beginning + String(number)
  }
}
