#if Data
public import Foundation
import Handstamp
public import HandstampCore

/// The location of one account's database: a folder of its own, excluded from backups.
public struct StorePlace: Sendable, Hashable {
  /// The account's folder. Created by ``prepare()``.
  public let folder: URL

  /// Uses a folder of the caller's choice. Accounts must not share one.
  public init(folder: URL) { self.folder = folder }

  /// Uses the folder of one account of the program `name`, such as `org.example.forum`, which `Accounts` of
  /// `Handstamp` removes at a sign-out whose plan includes the database. It lies beside `AccountID.downloadsFolder(of:)`, which
  /// gives the paths.
  ///
  /// - Parameter account: The account's ID in the list of accounts; in a program without one, its ID at the server.
  /// - Throws: ``StoreError/noPlace`` if the folder cannot be determined.
  public init(_ name: String, account: AccountID) throws(StoreError) {
    guard let account = AccountFolder(of: account, program: name) else { throw .noPlace }
    folder = URL(fileURLWithPath: account.database, isDirectory: true)
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

  private static let tag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # Cached data: the contents of this folder can be downloaded again.

    """
}
#endif
