package import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What lies in a folder of vaults, as far as names and headers tell: no vault is opened, so that no account need be known.
package struct VaultInspection: Sendable, Hashable {
  /// What can be said of a vault's file.
  package enum Condition: Sendable, Hashable {
    /// Its header is whole, and its key is the one that is here, as far as that is known.
    case sealed
    /// Sealed with another key than the one that is here.
    case otherKey
    /// Its key is not here.
    case keyMissing
    /// A newer version wrote it.
    case newer
    case damaged
    /// A folder, a pipe or a link is in its place.
    case notFile
    /// The system does not let it be read.
    case unreadable(String)
  }

  package struct Stored: Sendable, Hashable {
    /// Names the account.
    package var digest: String
    package var condition: Condition
    /// Whether there is room for its next write: only beside a session, not beside what a sign-out leaves.
    package var hasRoom: Bool
    package var name: String { digest + VaultFiles.vaultEnding }
  }

  package enum KeyFileCondition: Sendable, Hashable {
    case good, absent, damaged, notFile
    case unreadable(String)
  }

  package var vaults: [Stored] = []
  package var keyFile = KeyFileCondition.absent
  /// All names in the folder.
  package var names: [String] = []

  /// Looks at `folder`; `nil` where there is none.
  ///
  /// - Parameter isKeyBeside: whether the key is kept in the file beside the vaults.
  package init?(of path: String, isKeyBeside: Bool) throws(VaultTrouble) {
    guard let folder = try PosixFile.folder(path) else { return nil }
    names = try folder.names().sorted()
    let key = loadKey(in: folder)
    for name in names where name.hasSuffix(VaultFiles.vaultEnding) {
      let digest = String(name.dropLast(VaultFiles.vaultEnding.count))
      vaults.append(
        Stored(
          digest: digest, condition: VaultInspection.condition(of: name, in: folder, key, isKeyBeside: isKeyBeside),
          hasRoom: names.contains(digest + ".room")))
    }
  }

  private mutating func loadKey(in folder: PosixFile) -> SealingKey? {
    do throws(VaultTrouble) {
      guard let file = try folder.open(KeyFile.name, flags: O_RDONLY) else { return nil }
      guard try file.status().isRegular else {
        keyFile = .notFile
        return nil
      }
      let key = try KeyFile(beside: folder).parse(file)?.withExposedBytes(SealingKey.init)
      keyFile = key == nil ? .damaged : .good
      return key
    } catch {
      keyFile = VaultInspection.isLink(error) ? .notFile : .unreadable(error.words)
      return nil
    }
  }

  private static func condition(
    of name: String, in folder: PosixFile, _ key: SealingKey?, isKeyBeside: Bool
  ) -> Condition {
    do throws(VaultTrouble) {
      guard let file = try folder.open(name, flags: O_RDONLY) else { return .notFile }
      guard try file.status().isRegular else { return .notFile }
      let bytes = try file.readAll(limit: SealedFormat.sizeLimit)
      guard bytes.count <= SealedFormat.sizeLimit else { return .damaged }
      let header: SealedFormat.Header
      do throws(VaultTrouble) { header = try SealedFormat.Header(bytes) } catch {
        return error == .corrupt ? .damaged : .newer
      }
      guard isKeyBeside else { return .sealed }
      guard let key else { return .keyMissing }
      return header.keyID == key.id ? .sealed : .otherKey
    } catch {
      return isLink(error) ? .notFile : .unreadable(error.words)
    }
  }

  /// A symbolic link is never followed, and a socket cannot be opened.
  private static func isLink(_ trouble: VaultTrouble) -> Bool {
    trouble.words.contains("symbolic link") || trouble.words.contains("error \(ENXIO)")
  }

  /// The name that an account's files begin with.
  package static func digest(of account: AccountID) -> String { VaultFiles.digest(of: account) }

  /// What of an account's files must go with its vault where another key is to be made: the log is sealed with the same.
  package static func filesOfKey(_ digest: String) -> [String] {
    [".vault", ".audit", ".audit-older", ".audit-torn"].map { digest + $0 }
  }

  /// Gives a file, or whatever is in its place, another name, so that nothing of it is lost; the new name. A vault gets the one
  /// that a sign-in would give it: the sign-out of its account takes it along.
  package static func setAside(_ name: String, in path: String) throws(VaultTrouble) -> String? {
    guard let folder = try PosixFile.folder(path) else { return nil }
    let names = try folder.names()
    guard names.contains(name) else { return nil }
    var base = name
    if name.hasSuffix(VaultFiles.vaultEnding), let file = try? folder.open(name, flags: O_RDONLY),
      (try? file.status().isRegular) == true
    {
      base = String(name.dropLast(VaultFiles.vaultEnding.count))
    }
    var number = 1
    while names.contains("\(base).corrupt-\(number)") { number += 1 }
    let aside = "\(base).corrupt-\(number)"
    try folder.rename(name, to: aside)
    try folder.sync(attempt: "syncing the vault's folder")
    return aside
  }

  /// Does `work` while no process writes in the folder, as far as its lock can be had.
  @concurrent package static func alone<Value: Sendable>(
    in path: String, _ work: @Sendable () throws(VaultTrouble) -> Value
  ) async throws(VaultTrouble) -> Value {
    guard let folder = try PosixFile.folder(path) else { return try work() }
    let lock: LockFile
    do throws(VaultTrouble) { lock = try await VaultFolder.lock(in: folder, within: .seconds(10)) } catch {
      // Something is in the lock's place; it is what is put right.
      return try work()
    }
    defer { lock.unlock() }
    return try work()
  }
}

extension VaultTrouble {
  /// For people.
  package var words: String {
    switch self {
    case .locked: "locked"
    case .corrupt: "damaged"
    case .unavailable(let why): why
    }
  }
}
