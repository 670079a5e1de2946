#if Data
public import Foundation
public import HandstampCore

/// Where one account's database is kept: a folder of its own, which no back-up takes along.
public struct StorePlace: Sendable, Hashable {
  /// The account's folder. Made by ``prepare()``.
  public let folder: URL

  /// A folder of the caller's choice. Two accounts must not share one.
  public init(folder: URL) { self.folder = folder }

  /// The folder of one account of the program `name`, such as `org.example.forum`.
  ///
  /// | system | where |
  /// |---|---|
  /// | Linux | `$XDG_DATA_HOME/<name>/accounts/<account>`, which is `~/.local/share/…` unless set |
  /// | Apple | `Application Support/<name>/accounts/<account>` |
  /// | tvOS | `Caches/<name>/accounts/<account>`, which the system may empty |
  ///
  /// - Throws: ``StoreError/noPlace`` where no such folder is known.
  public init(_ name: String, account: AccountID) throws(StoreError) {
    guard let base = StorePlace.base else { throw .noPlace }
    folder = base.appendingPathComponent(StorePlace.component(name), isDirectory: true)
      .appendingPathComponent("accounts", isDirectory: true)
      .appendingPathComponent(StorePlace.component(account.rawValue), isDirectory: true)
  }

  /// Makes the folder, for its owner alone, and marks it as nothing for a back-up: by `isExcludedFromBackup` on Apple's
  /// systems, by a `CACHEDIR.TAG` (<https://bford.info/cachedir/>) elsewhere.
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

  /// Removes the folder with all that is in it. That there is none is fine.
  ///
  /// Connections that open and close meanwhile make and remove files of their own; either may end the system's removal of
  /// the folder half-way. So it is begun again until there is nothing left.
  public func remove() throws(StoreError) { try remove { try FileManager.default.removeItem(at: $0) } }

  /// - Parameter removal: takes a folder with all that is in it away, or ends half-way.
  func remove(by removal: (URL) throws -> Void) throws(StoreError) {
    var problem = "the folder does not go"
    for _ in 0..<1000 {
      do { try removal(folder) } catch { problem = String(describing: type(of: error)) }
      guard FileManager.default.fileExists(atPath: folder.path) else { return }
    }
    throw .unusable(problem)
  }

  /// A text as the name of one folder: letters, digits and `-` stay, every other byte becomes `_` and two hexadecimal
  /// digits, so that two texts never meet. One that is too long for a file system is cut, and ends in a hash of the whole.
  ///
  /// | text | folder |
  /// |---|---|
  /// | `ada` | `ada` |
  /// | `../ada` | `_2E_2E_2Fada` |
  static func component(_ text: String) -> String {
    var name = ""
    for byte in text.utf8 {
      let letter = Character(Unicode.Scalar(byte))
      // Capitals are written out, too: some disks do not tell them apart.
      if letter.isASCII, letter.isLowercase || letter.isNumber || letter == "-" || (letter == "." && !name.isEmpty) {
        name.append(letter)
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        name += "_" + (digits.count < 2 ? "0" : "") + digits
      }
    }
    guard name.utf8.count > 150 else { return name.isEmpty ? "_" : name }
    // FNV-1a: it tells long names apart, and guards nothing.
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
    // The XDG base directory specification says that relative paths must be ignored.
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return URL(fileURLWithPath: data) }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
    return URL(fileURLWithPath: home).appendingPathComponent(".local/share", isDirectory: true)
    #endif
  }

  private static let tag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # What is in this folder can be fetched again from where it came from.

    """
}
#endif
