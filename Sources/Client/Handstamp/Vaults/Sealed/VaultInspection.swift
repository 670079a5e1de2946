package import HandstampCore
import HandstampSupport

/// The contents of a folder of vaults, as far as names and headers reveal them. No vault is opened, so no account needs
/// to be known.
package struct VaultInspection: Sendable, Hashable {
  /// The condition of a vault file.
  package enum Condition: Sendable, Hashable {
    /// The header is intact, and the file was sealed with the present key, as far as that is known.
    case sealed
    /// Sealed with a key other than the present one.
    case otherKey
    /// The key is missing.
    case keyMissing
    /// Written by another version.
    case otherFormat
    case damaged
    /// A folder, a pipe or a link takes its place.
    case notFile
    /// The system refuses to read it.
    case unreadable(String)
  }

  package struct Stored: Sendable, Hashable {
    /// Identifies the account.
    package var digest: String
    package var condition: Condition
    /// Whether space is reserved for the next write. Only sessions have a reserve, not the tombstones left by a
    /// sign-out.
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

  /// Inspects `folder`. Returns `nil` if there is no such folder.
  ///
  /// - Parameter isKeyBeside: Whether the key is kept in the file beside the vaults.
  package init?(of path: String, isKeyBeside: Bool) throws(VaultError) {
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
    do throws(VaultError) {
      guard let file = try folder.open(VaultKeyFile.name, flags: O_RDONLY) else { return nil }
      guard try file.status().isRegular else {
        keyFile = .notFile
        return nil
      }
      let key = try VaultKeyFile(beside: folder).parse(file)?.withExposedBytes(SealingKey.init)
      keyFile = key == nil ? .damaged : .good
      return key
    } catch {
      keyFile = folder.isOtherThanFile(VaultKeyFile.name) ? .notFile : .unreadable(error.description)
      return nil
    }
  }

  private static func condition(
    of name: String, in folder: PosixFile, _ key: SealingKey?, isKeyBeside: Bool
  ) -> Condition {
    do throws(VaultError) {
      guard let file = try folder.open(name, flags: O_RDONLY) else { return .notFile }
      guard try file.status().isRegular else { return .notFile }
      let bytes = try file.readAll(limit: SealedFormat.sizeLimit)
      guard bytes.count <= SealedFormat.sizeLimit else { return .damaged }
      let header: SealedFormat.Header
      do throws(VaultError) { header = try SealedFormat.Header(bytes) } catch {
        return error == .corrupt ? .damaged : .otherFormat
      }
      guard isKeyBeside else { return .sealed }
      guard let key else { return .keyMissing }
      return header.keyID == key.id ? .sealed : .otherKey
    } catch {
      return folder.isOtherThanFile(name) ? .notFile : .unreadable(error.description)
    }
  }

  /// The files of audit logs without a vault. Like a vault, they keep a new key from being created.
  package var strayLogs: [String] {
    let digests = Set(
      names.filter { VaultFiles.needsKey($0) }.compactMap { $0.split(separator: ".").first.map(String.init) })
    return digests.subtracting(vaults.map(\.digest)).sorted().flatMap(VaultInspection.filesOfKey).filter(names.contains)
  }

  /// Writes as much as the reserve of a vault to a file in the folder, and removes it.
  package static func tryWriting(in path: String) throws(VaultError) {
    guard let folder = try PosixFile.folder(path) else { return }
    let name = VaultFiles.newPartial()
    let file = try folder.create(name)
    defer { try? folder.remove(name) }
    try file.write(VaultFiles.filling(16 << 10), attempt: "writing to the folder")
    try file.sync(attempt: "writing to the folder")
  }

  /// The name that an account's files begin with.
  package static func digest(of account: AccountID) -> String { VaultFiles.digest(of: account) }

  /// The files that must go together with the vault before a new key is created: the audit log depends on the same key.
  package static func filesOfKey(_ digest: String) -> [String] {
    [".vault", ".audit", ".audit-older", ".audit-torn"].map { digest + $0 }
  }

  /// The files of a folder at one time, so that a repair can tell whether what it has found is still true.
  package struct Sight: Sendable {
    private var files: [String: FileStatus] = [:]

    /// A folder that cannot be read shows nothing.
    package init(of path: String) {
      guard let folder = try? PosixFile.folder(path) else { return }
      for name in (try? folder.names()) ?? [] { files[name] = folder.status(of: name) }
    }

    /// Whether the file is the same, and those that say where the key is.
    fileprivate func isTrue(of name: String, in folder: PosixFile) -> Bool {
      [name, VaultKeyPlace.noteName, VaultKeyFile.name, PassphraseFiles.name].allSatisfy {
        files[$0] == folder.status(of: $0)
      }
    }

    package mutating func renamed(_ name: String) { files[name] = nil }
  }

  /// Renames a file, or whatever is in its place, so that nothing is lost. Returns the new name; `nil` if another process has
  /// changed it since it was seen, or moved the key. A vault is named as by a sign-in, so that the sign-out of its account removes it.
  package static func setAside(_ name: String, in path: String, seen: Sight) throws(VaultError) -> String? {
    guard let folder = try PosixFile.folder(path) else { return nil }
    let names = try folder.names()
    guard names.contains(name), seen.isTrue(of: name, in: folder) else { return nil }
    var base = name
    if name.hasSuffix(VaultFiles.vaultEnding), let file = try? folder.open(name, flags: O_RDONLY),
      (try? file.status().isRegular) == true
    {
      base = String(name.dropLast(VaultFiles.vaultEnding.count))
    }
    let aside = VaultFiles.free("\(base).corrupt-", among: names)
    try folder.rename(name, to: aside)
    try folder.sync(attempt: "syncing the vault's folder")
    return aside
  }

  /// Runs `work` while no other process writes in the folder, as far as its lock is available.
  @concurrent package static func alone<Value: Sendable>(
    in path: String, _ work: @Sendable () throws(VaultError) -> Value
  ) async throws(VaultError) -> Value {
    guard let folder = try PosixFile.folder(path) else { return try work() }
    let outcome: Result<Value, VaultError>?
    do throws(VaultError) {
      let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
      defer { lock.unlock() }
      outcome = Result(catching: work)
    } catch {
      outcome = nil
    }
    // Without one, something is in the lock's place, and `work` repairs it.
    if let outcome { return try outcome.get() }
    return try work()
  }
}
