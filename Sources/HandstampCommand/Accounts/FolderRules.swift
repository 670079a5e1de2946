#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampVaults

/// Which account is used in which folder, and below it: `handstamp switch NAME --here`.
///
/// A file per folder, in the home of the installation: processes need not agree on anything, and a folder that somebody else
/// filled does not say as whom one works in it.
struct FolderRules: Sendable {
  struct Rule: Sendable, Hashable, Codable {
    /// Absolute, without symbolic links.
    var folder: String
    var account: AccountID

    /// The account is on no list any more.
    var gone: Refusal {
      Refusal(
        .failure, "the account that was set for \(folder) is not there any more",
        hint: "run: cd \(shellWord(folder)) && handstamp switch --here")
    }
  }

  private let home: Home
  private var place: String { home.path + "/folders" }

  init(of home: Home) { self.home = home }

  /// Where this process is; nothing when that folder is gone.
  static var here: String? {
    guard let path = realpath(".", nil) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }

  /// Says so where another account is used here than the one that was just made the active one.
  func sayOther(than account: AccountID) {
    guard let rule = try? current(), rule.account != account else { return }
    Terminal.say("in \(rule.folder) another account is used; change that with: handstamp switch NAME --here")
  }

  /// The rule of the folder where this process is, else of the nearest one above it.
  func current() throws(Refusal) -> Rule? {
    guard var folder = FolderRules.here, let facts = FileFacts(place) else { return nil }
    var isFolder: ObjCBool = false
    guard facts.isFolder || FileManager.default.fileExists(atPath: place, isDirectory: &isFolder) && isFolder.boolValue
    else { throw unreadable(place) }
    while true {
      if let rule = try rule(of: folder) { return rule }
      guard folder != "/" else { return nil }
      folder = (folder as NSString).deletingLastPathComponent
    }
  }

  /// - Throws: a refusal where there is one that cannot be read: nobody is to work as somebody else for that.
  private func rule(of folder: String) throws(Refusal) -> Rule? {
    let path = file(of: folder)
    switch PlainFile.read(path) {
    case .absent: return nil
    case .content(let bytes):
      if let rule = try? JSONDecoder().decode(Rule.self, from: Data(bytes)) { return rule }
      fallthrough
    case .unreadable:
      throw Refusal(
        .failure, "\(path) cannot be read, which says the account for \(folder)",
        hint: "run: cd \(shellWord(folder)) && handstamp switch --here")
    }
  }

  func set(_ rule: Rule) throws(Refusal) {
    do {
      try FileManager.default.createDirectory(
        atPath: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      try encoder.encode(rule).write(to: URL(fileURLWithPath: file(of: rule.folder)), options: .atomic)
    } catch {
      throw home.unwritable()
    }
  }

  /// Whether there was one. One that cannot be read gets another name.
  func remove(of folder: String) throws(Refusal) -> Bool {
    let path = file(of: folder)
    switch PlainFile.read(path) {
    case .absent: return false
    case .content(let bytes) where (try? JSONDecoder().decode(Rule.self, from: Data(bytes))) != nil:
      guard unlink(path) == 0 || errno == ENOENT else { throw home.unwritable() }
    case .content, .unreadable:
      var number = 1
      while FileFacts("\(path).corrupt-\(number)") != nil { number += 1 }
      guard rename(path, "\(path).corrupt-\(number)") == 0 else { throw home.unwritable() }
    }
    return true
  }

  /// All that can be read.
  var all: [Rule] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
    return names.sorted().compactMap { name in
      guard case .content(let bytes) = PlainFile.read("\(place)/\(name)") else { return nil }
      return try? JSONDecoder().decode(Rule.self, from: Data(bytes))
    }
  }

  /// A path may be longer than a file's name can be.
  func file(of folder: String) -> String {
    let digest = SHA256.hash(data: Data(folder.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    return "\(place)/\(digest.joined()).json"
  }

  private func unreadable(_ path: String) -> Refusal {
    Refusal(
      .failure, "\(path) cannot be read, which says the account for a folder",
      hint: "run: handstamp doctor --set-aside", concernsHome: true)
  }
}
#endif
