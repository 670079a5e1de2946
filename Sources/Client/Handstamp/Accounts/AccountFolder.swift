public import HandstampCore

#if canImport(Darwin)
import Foundation
#else
import HandstampSupport
#endif

extension AccountID {
  /// Returns the folder for files that this account's user downloaded, which `Accounts` of `Handstamp` removes at a sign-out whose
  /// plan includes ``CleanupScope/downloads``. Created by the first writer, who excludes it from backups.
  ///
  /// | system | folder |
  /// |---|---|
  /// | Linux | `$XDG_STATE_HOME/<program>/accounts/<account>/downloads`; `~/.local/state/…` if unset |
  /// | Apple | `Application Support/<program>/accounts/<account>/downloads` |
  /// | tvOS | `Caches/<program>/accounts/<account>/downloads`, which the system may empty |
  ///
  /// `<account>` is a digest, which reveals no name. Use the account's ID in the list of accounts; in a program without one, its
  /// ID at the server.
  ///
  /// - Parameter program: The program's name, such as `org.example.forum`; the same as for its vaults.
  /// - Returns: An absolute path; `nil` if the system does not say where the folder is.
  public func downloadsFolder(of program: String) -> String? { AccountFolder(of: self, program: program)?.downloads }

  /// Returns the folder for this account's cached images. Like ``downloadsFolder(of:)``, with ``CleanupScope/imageCache``.
  public func imagesFolder(of program: String) -> String? { AccountFolder(of: self, program: program)?.images }
}

/// The folder of one account's data on this device, apart from its vault and its audit log.
///
/// | system | folder |
/// |---|---|
/// | Linux | `$XDG_STATE_HOME/<program>/accounts/<account>`; `~/.local/state/…` if unset |
/// | Apple | `Application Support/<program>/accounts/<account>` |
/// | tvOS | `Caches/<program>/accounts/<account>`, which the system may empty |
///
/// `<account>` is a digest of the account's ID: it reveals no name, fits every file system, and differs for every ID. The
/// data is bound to this device, like the session, so a writer excludes its folder from backups; its protection while an
/// Apple device is locked is the app's default.
///
/// It is neither in `$XDG_DATA_HOME`, which people synchronize and back up (this is a copy of what a server has, and a database that is
/// synchronized while it is open breaks), nor in `$XDG_CACHE_HOME`, which programs that clean up empty.
///
/// `Accounts` of `Handstamp` removes each folder at a sign-out whose plan includes it.
package struct AccountFolder: Sendable, Hashable {
  /// Absolute. Created by the first writer, see the folders in it.
  package let path: String

  /// Names the folder, and creates nothing. `nil` if the system does not say where it is.
  ///
  /// - Parameters:
  ///   - account: The account's ID in the list of accounts; in a program without one, its ID at the server.
  ///   - program: The program's name, such as `org.example.forum`; the same as for its vaults.
  package init?(of account: AccountID, program: String) {
    guard let folder = ProgramFolder(program) else { return nil }
    path = folder.path + "/accounts/" + VaultFiles.digest(of: account)
  }

  /// For the account's database: removed by ``CleanupScope/database``.
  package var database: String { path + "/database" }
  /// For files that the user downloaded: removed by ``CleanupScope/downloads``.
  package var downloads: String { path + "/downloads" }
  /// For cached images: removed by ``CleanupScope/imageCache``.
  package var images: String { path + "/images" }
}

/// The folder of a program: its vaults, with their locks, list and audit logs; the ID of its installation; and the folders
/// of its accounts.
package struct ProgramFolder: Sendable, Hashable {
  /// Absolute.
  package let path: String

  /// `nil` if the system does not say where it is.
  package init?(_ name: String) {
    guard let base = ProgramFolder.base else { return nil }
    // A name is a single path component, whatever it contains.
    let letters = name.map { $0 == "/" || $0 == "\0" ? "_" : $0 }
    path = "\(base)/" + (letters.first == "." || letters.isEmpty ? "_" : "") + String(letters)
  }

  package var vaults: String { path + "/vault" }

  /// A file beside a program's folder, if `vaults` are a program's.
  static func note(ofVaults vaults: String) -> (folder: String, name: String)? {
    guard let base = ProgramFolder.base, vaults.hasPrefix(base + "/"), vaults.hasSuffix("/vault") else { return nil }
    let name = vaults.dropFirst(base.count + 1).dropLast("/vault".count)
    return name.isEmpty || name.contains("/") ? nil : (base, ".\(name).vault")
  }

  #if canImport(Darwin)
  private static var base: String? {
    #if os(tvOS)
    // The only folder there that an app may write to.
    let folder = FileManager.SearchPathDirectory.cachesDirectory
    #else
    let folder = FileManager.SearchPathDirectory.applicationSupportDirectory
    #endif
    return FileManager.default.urls(for: folder, in: .userDomainMask).first?.path
  }
  #else
  private static var base: String? {
    // The XDG base directory specification requires relative paths to be ignored.
    if let state = ProcessEnvironment["XDG_STATE_HOME"], state.hasPrefix("/") { return state }
    return homeFolder().map { "\($0)/.local/state" }
  }
  #endif
}

#if !canImport(Darwin)
private func homeFolder() -> String? {
  if let home = ProcessEnvironment["HOME"], home.hasPrefix("/") { return home }
  var entry = passwd()
  var found: UnsafeMutablePointer<passwd>?
  var buffer = [CChar](repeating: 0, count: 16 << 10)
  let home: String? = buffer.withUnsafeMutableBufferPointer { buffer in
    guard let start = buffer.baseAddress, getpwuid_r(getuid(), &entry, start, buffer.count, &found) == 0,
      found != nil
    else { return nil }
    return String(cString: entry.pw_dir)
  }
  return home.flatMap { $0.hasPrefix("/") ? $0 : nil }
}
#endif
