#if Server
import CHandstampFiles
import Crypto
import Foundation
public import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Which new passwords are accepted (NIST SP 800-63B section 3.1.1.2, OWASP ASVS 6.2): a least length, and none that an attacker
/// tries first. There are no rules of composition; every character of Unicode counts.
public struct PasswordPolicy: Sendable, Hashable {
  /// The least length that can be set, in code points.
  public static let least = 8
  /// The greatest length, in code points.
  public static let most = 1024

  /// The least length in code points, from ``least`` to 64. Where passwords are the only factor, NIST advises 15.
  public var minimumLength: Int { didSet { minimumLength = PasswordPolicy.clamped(minimumLength) } }
  /// Words that are no passwords of their own, such as the name of the service. The issuer's host is added.
  public var contextWords: [String]
  /// A folder with the range files of Pwned Passwords: one file per prefix of five hexadecimal digits of a SHA-1, named `21BD1` or
  /// `21BD1.txt`, each with lines of 35 digits, a colon and a count. `nil` checks no breaches.
  public var breachedPasswords: String?

  public init(minimumLength: Int = least, contextWords: [String] = [], breachedPasswords: String? = nil) {
    self.minimumLength = PasswordPolicy.clamped(minimumLength)
    self.contextWords = contextWords
    self.breachedPasswords = breachedPasswords
  }

  private static func clamped(_ length: Int) -> Int { min(max(length, least), 64) }

  /// The reason for which a new password is refused. The raw value is the reason in the response.
  public enum Weakness: String, Sendable, Hashable, CaseIterable {
    case tooShort = "too_short"
    case tooLong = "too_long"
    /// One of the most common passwords.
    case common
    /// Little more than the name of the user or of the service.
    case context
    /// Found in a data breach.
    case breached
    /// The range file for this password cannot be read. The operator asked for the check, so it is not left out.
    case uncheckable
  }

  /// Returns why a new password is refused; `nil` if it is not.
  ///
  /// - Parameter names: what is known of the user, such as the address and the name.
  public func weakness(of password: Secret, names: [String] = []) -> Weakness? {
    let length = PasswordPolicy.length(of: password)
    guard length >= minimumLength else { return .tooShort }
    guard length <= PasswordPolicy.most else { return .tooLong }
    let folded = password.withExposed { PasswordPolicy.folded($0) }
    guard !CommonPasswords.all.contains(folded[...]) else { return .common }
    guard !isContext(folded, names) else { return .context }
    return breach(of: password)
  }

  /// Returns the number of code points.
  static func length(of password: Secret) -> Int {
    password.withExposedBytes { bytes in bytes.count { $0 & 0xC0 != 0x80 } }
  }

  /// Returns whether a password is a context word with at most four further characters, or such a word several times.
  private func isContext(_ password: String, _ names: [String]) -> Bool {
    // Each word is looked for in the password, so both are bounded.
    guard password.utf8.count <= 512 else { return false }
    let words = (contextWords + names).flatMap { name -> [String] in
      let folded = PasswordPolicy.folded(name)
      // A service at `id.example.org` is known as `example.org`.
      let labels = folded.split(separator: "@").last?.split(separator: ".") ?? []
      return [folded] + labels.indices.map { labels[$0...].joined(separator: ".") }
        + folded.split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }
    return Set(words.filter { $0.utf8.count >= 4 }).sorted { $0.utf8.count > $1.utf8.count }.prefix(32).contains {
      word in
      guard word.count >= 4 else { return false }
      let rest = password.replacingOccurrences(of: word, with: "")
      return rest.count < password.count && rest.count <= 4
    }
  }

  /// Whether there is a range file in the folder of breached passwords, if that is set.
  var hasRanges: Bool {
    guard let breachedPasswords else { return true }
    // A whole download has a million files, of which any one will do.
    guard let folder = opendir(breachedPasswords) else { return false }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { $0.prefix { $0 != 0 }.prefix(10).map { $0 } }
      let isRange = name.count >= 5 && name.prefix(5).allSatisfy { "0123456789ABCDEF".utf8.contains($0) }
      if isRange, name.count == 5 || name.dropFirst(5).elementsEqual(".txt".utf8) { return true }
    }
    return false
  }

  private func breach(of password: Secret) -> Weakness? {
    guard let breachedPasswords else { return nil }
    let digest = password.withExposedBytes { Insecure.SHA1.hash(data: $0) }
    let digits = digest.map { String(format: "%02X", $0) }.joined()
    let (prefix, suffix) = (digits.prefix(5), digits.dropFirst(5))
    let paths = ["\(breachedPasswords)/\(prefix)", "\(breachedPasswords)/\(prefix).txt"]
    guard let content = paths.lazy.compactMap({ FileManager.default.contents(atPath: $0) }).first else {
      return .uncheckable
    }
    let isBreached = content.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }.contains { line in
      // A count of 0 is padding.
      line.count > 36 && String(decoding: line.prefix(35), as: UTF8.self).uppercased() == suffix
        && line[line.startIndex + 35] == UInt8(ascii: ":") && line.dropFirst(36) != Data("0".utf8)
    }
    return isBreached ? .breached : nil
  }

  /// Returns the text without differences of case, width and composition.
  private static func folded(_ text: String) -> String {
    text.precomposedStringWithCompatibilityMapping.lowercased()
  }
}

extension PasswordPolicy {
  /// Checks a password for sign-in: one that no account can have is not worth a hash. Reveals nothing about any account.
  static func check(attempt password: Secret) throws(AccountError) {
    guard length(of: password) <= most else { throw .invalid(.passwordTooLong) }
  }

  /// Checks a new password of a user with that address and name.
  func check(new password: Secret, of email: EmailAddress?, _ username: String) throws(AccountError) {
    if let weakness = weakness(of: password, names: [email?.typed ?? "", username]) {
      throw .weakPassword(weakness, least: minimumLength)
    }
  }
}

extension ServerConfiguration {
  /// The policy with the names of the service as context words.
  var policyOfPasswords: PasswordPolicy {
    var policy = passwords.policy
    policy.contextWords += [URLComponents(string: issuer)?.host, clientID, pages.name].compactMap(\.self)
    return policy
  }
}

/// The most common passwords of at least 8 characters, in lower case. The list is Django's, see NOTICE.
enum CommonPasswords {
  static let all = Set(
    String(decoding: handstamp_common_passwords().buffer, as: UTF8.self).split(whereSeparator: \.isWhitespace))
}

extension handstamp_file {
  /// The content of a file that is part of the program.
  var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: bytes, count: count) }
}

/// The passwords of a server: which it accepts, and how it hashes them.
public struct PasswordSettings: Sendable, Hashable {
  /// Which new passwords are accepted.
  public var policy = PasswordPolicy()
  /// Stronger parameters than before are used for existing passwords from their next sign-in.
  public var hashing = Argon2Parameters.recommended
  /// How many passwords are hashed at once. The default leaves one core for everything else, if there are several.
  public var threads = max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
  /// How many further hashes may wait; more are answered 503. Default 64.
  public var queue = 64

  public init() {}
}
#endif
