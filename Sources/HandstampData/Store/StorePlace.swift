#if Data
public import Foundation
public import HandstampCore

/// The location of one account's database: a folder of its own, excluded from backups.
public struct StorePlace: Sendable, Hashable {
  /// The account's folder. Created by ``prepare()``.
  public let folder: URL

  /// Uses a folder of the caller's choice. Accounts must not share one.
  public init(folder: URL) { self.folder = folder }

  /// Uses the folder of one account of the program `name`, such as `org.example.forum`.
  ///
  /// | system | folder |
  /// |---|---|
  /// | Linux | `$XDG_DATA_HOME/<name>/accounts/<account>`; `~/.local/share/…` if unset |
  /// | Apple | `Application Support/<name>/accounts/<account>` |
  /// | tvOS | `Caches/<name>/accounts/<account>`, which the system may empty |
  ///
  /// - Throws: ``StoreError/noPlace`` if the folder cannot be determined.
  public init(_ name: String, account: AccountID) throws(StoreError) {
    guard let base = StorePlace.base else { throw .noPlace }
    folder = base.appendingPathComponent(StorePlace.component(name), isDirectory: true)
      .appendingPathComponent("accounts", isDirectory: true)
      .appendingPathComponent(StorePlace.component(account.rawValue), isDirectory: true)
  }

  /// Creates the folder, accessible by its owner only, and excludes it from backups: by `isExcludedFromBackup` on
  /// Apple platforms, by a `CACHEDIR.TAG` (<https://bford.info/cachedir/>) elsewhere.
  public func prepare() throws(StoreError) {
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      #if canImport(Darwin)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      var marked = folder
      try marked.setResourceValues(values)
      #else
      let tag = folder.appendingPathComponent("CACHEDIR.TAG")
      if !FileManager.default.fileExists(atPath: tag.path) {
        try Foundation.Data(StorePlace.tag.utf8).write(to: tag)
      }
      #endif
    } catch {
      throw .unusable(String(describing: type(of: error)))
    }
  }

  /// Removes the folder and its contents, if it exists.
  ///
  /// Connections that open and close meanwhile create and remove files of their own, either of which may abort the
  /// system's removal of the folder. It is therefore repeated until the folder is gone.
  public func remove() throws(StoreError) { try remove { try FileManager.default.removeItem(at: $0) } }

  /// - Parameter removal: Removes a folder and its contents, or stops half-way.
  func remove(by removal: (URL) throws -> Void) throws(StoreError) {
    var problem = "the folder cannot be removed"
    for _ in 0..<1000 {
      do { try removal(folder) } catch { problem = String(describing: type(of: error)) }
      guard FileManager.default.fileExists(atPath: folder.path) else { return }
    }
    throw .unusable(problem)
  }

  /// Encodes a text as a single folder name. Lower-case letters, digits, `-` and inner dots stay, and every other byte
  /// becomes `_` and two hexadecimal digits, so that no two texts collide. Names too long for a file system are
  /// truncated and end in a hash of the whole text.
  ///
  /// | text | folder |
  /// |---|---|
  /// | `ada` | `ada` |
  /// | `../ada` | `_2E._2Fada` |
  static func component(_ text: String) -> String {
    var name = ""
    for byte in text.utf8 {
      let letter = Character(Unicode.Scalar(byte))
      // Capitals are encoded, too: some file systems ignore case.
      if letter.isASCII, letter.isLowercase || letter.isNumber || letter == "-" || (letter == "." && !name.isEmpty) {
        name.append(letter)
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        name += "_" + (digits.count < 2 ? "0" : "") + digits
      }
    }
    guard name.utf8.count > 150 else { return name.isEmpty ? "_" : name }
    // FNV-1a: it distinguishes long names and is not a security measure.
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(name.prefix(130)) + "__" + String(hash, radix: 16)
  }

  private static var base: URL? {
    #if os(tvOS)
    return FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
    #elseif canImport(Darwin)
    return FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
    #else
    let environment = ProcessInfo.processInfo.environment
    // The XDG base directory specification requires relative paths to be ignored.
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return URL(fileURLWithPath: data) }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
    return URL(fileURLWithPath: home).appendingPathComponent(".local/share", isDirectory: true)
    #endif
  }

  private static let tag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # Cached data: the contents of this folder can be downloaded again.

    """
}
#endif
