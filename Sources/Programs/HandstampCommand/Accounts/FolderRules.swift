#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// Which account is used in a folder and its subfolders, as set by `handstamp switch NAME --here`.
///
/// One file per folder, in the installation's home: processes do not need to coordinate, and the contents of a folder cannot
/// choose the account used in it.
struct FolderRules: Sendable {
  struct Rule: Sendable, Hashable, Codable {
    /// Absolute, without symbolic links.
    var folder: String
    var account: AccountID

    /// The refusal if the account is no longer listed.
    var gone: CommandError {
      CommandError(
        .failure, "the account set for \(folder) no longer exists",
        hint: "run: cd \(shellWord(folder)) && handstamp switch --here")
    }
  }

  private let home: Home
  private var place: String { home.path + "/folders" }

  init(of home: Home) { self.home = home }

  /// The working directory; `nil` if it no longer exists.
  static var here: String? {
    guard let path = realpath(".", nil) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }

  /// Prints a note if this folder uses an account other than the one just activated.
  func sayOther(than account: AccountID) {
    guard let rule = try? current(), rule.account != account else { return }
    Terminal.say("\(rule.folder) uses another account; to change that, run: handstamp switch NAME --here")
  }

  /// Returns the rule of the working directory, else of the nearest parent folder that has one.
  func current() throws(CommandError) -> Rule? {
    guard FileFacts(place) != nil, var folder = FolderRules.here else { return nil }
    guard FileFacts.isFolder(place) else {
      throw CommandError(
        .failure, "cannot read \(place), which sets the account for a folder",
        hint: "run: handstamp doctor --set-aside", concernsHome: true)
    }
    while true {
      if let rule = try rule(of: folder) { return rule }
      guard folder != "/" else { return nil }
      folder = (folder as NSString).deletingLastPathComponent
    }
  }

  /// - Throws: A refusal if there is a rule that cannot be read: another account must not be used instead.
  private func rule(of folder: String) throws(CommandError) -> Rule? {
    let path = file(of: folder)
    do throws(DescribedError) { return try PlainFile.json(at: path) } catch {
      throw CommandError(
        .failure, "cannot read \(path), which sets the account for \(folder)",
        hint: "run: cd \(shellWord(folder)) && handstamp switch --here")
    }
  }

  func set(_ rule: Rule) throws(CommandError) {
    try home.write(rule, to: file(of: rule.folder))
  }

  /// Removes the rule of a folder; an unreadable one is renamed. Returns whether there was one.
  func remove(of folder: String) throws(CommandError) -> Bool {
    let path = file(of: folder)
    do throws(DescribedError) {
      guard try PlainFile.json(at: path, as: Rule.self) != nil else { return false }
    } catch {
      try home.setAside(path)
      return true
    }
    guard unlink(path) == 0 || errno == ENOENT else { throw home.unwritable() }
    return true
  }

  /// All readable rules.
  var all: [Rule] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
    return names.sorted().compactMap { PlainFile.value(at: "\(place)/\($0)") }
  }

  /// The rule's file. Its name is a digest, because a path may be longer than a file name can be.
  func file(of folder: String) -> String { home.file(in: "folders", for: folder) }
}
#endif
