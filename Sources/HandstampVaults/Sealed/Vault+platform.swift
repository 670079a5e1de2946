public import HandstampCore

#if canImport(Darwin)
import Foundation
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The default vault of the platform.
public typealias PlatformVault = SealedFileVault

extension Vault where Self == PlatformVault {
  /// The vault of the program `name`, such as `org.example.forum`, for one of its accounts. A program with one account
  /// at a time does not need to name it.
  ///
  /// | system | folder |
  /// |---|---|
  /// | Linux | `$XDG_STATE_HOME/<name>/vault`; `~/.local/state/<name>/vault` if unset |
  /// | Apple | `Application Support/<name>/vault`; apps should prefer ``KeychainVault`` |
  /// | tvOS | `Caches/<name>/vault`, which the system may empty: use ``KeychainVault`` |
  ///
  /// If the folder cannot be determined, every use is ``VaultError/unavailable(_:)``.
  public static func platform(_ name: String, account: AccountID = AccountID("default")) -> PlatformVault {
    SealedFileVault(folder: stateFolder(name).map { $0 + "/vault" } ?? "", account: account)
  }
}

extension AccountsIndex where Self == FileAccountsIndex {
  /// The list of accounts of the program `name`, beside its vaults.
  package static func platform(_ name: String) -> FileAccountsIndex {
    FileAccountsIndex(folder: stateFolder(name).map { $0 + "/vault" } ?? "")
  }
}

extension AccountID {
  /// The folder for the program `name` to keep this account's other data in: a cookie jar, a database, downloads.
  /// Created by the first writer. `nil` if the folder cannot be determined.
  package func folder(of name: String) -> String? {
    stateFolder(name).map { $0 + "/accounts/" + VaultFiles.digest(of: self) }
  }
}

func stateFolder(_ name: String) -> String? {
  // A name is a single path component, whatever it contains.
  let letters = name.map { $0 == "/" || $0 == "\0" ? "_" : $0 }
  let folder = letters.first == "." || letters.isEmpty ? "_" + String(letters) : String(letters)
  #if canImport(Darwin)
  #if os(tvOS)
  // The only folder there that an app may write to.
  let base = FileManager.SearchPathDirectory.cachesDirectory
  #else
  let base = FileManager.SearchPathDirectory.applicationSupportDirectory
  #endif
  return FileManager.default.urls(for: base, in: .userDomainMask).first.map {
    $0.appendingPathComponent(folder).path
  }
  #else
  // The XDG base directory specification requires relative paths to be ignored.
  if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") { return "\(state)/\(folder)" }
  return homeFolder().map { "\($0)/.local/state/\(folder)" }
  #endif
}

#if !canImport(Darwin)
private func environment(_ name: String) -> String? {
  getenv(name).map { String(cString: $0) }
}

private func homeFolder() -> String? {
  if let home = environment("HOME"), home.hasPrefix("/") { return home }
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
