package import HandstampCore
import HandstampSupport

/// A place that can hold a copy of a vault key, and gives it up.
package protocol VaultKeyCopy: VaultKeyStore {
  /// Returns the copy without asking the user for anything.
  @concurrent func content() async throws(VaultError) -> VaultKeyContent

  /// Removes the copy, durably. Only ``VaultKeyPlace`` can call this.
  @concurrent func remove(_ permission: borrowing VaultKeyRemoval) async throws(VaultError)
}

package enum VaultKeyContent: Sendable {
  case absent
  case key(Secret)
  /// There is a copy, which only the user could open.
  case closed
}

extension VaultKeyCopy {
  @concurrent package func content() async throws(VaultError) -> VaultKeyContent {
    try await load().map { .key($0) } ?? .absent
  }
}

/// The permission to remove one copy of a key. Only this file can give it, so no other code removes a copy.
package struct VaultKeyRemoval: ~Copyable, Sendable {
  fileprivate init() {}
}

extension VaultKeyPlace {
  /// Removes `copy`, once the key that stays has been read from its place and opens a vault.
  ///
  /// | the copy | goes if the key that stays opens |
  /// |---|---|
  /// | the same key | a vault or another sealed file, or if there is none |
  /// | another key, or one that only the user could read | all of them |
  /// | any, and no key stays | if there is none |
  ///
  /// A header states the ID of its file's key, which is derived from the key, so no account needs to be known.
  static func remove(
    _ copy: any VaultKeyCopy, keeping staying: any VaultKeyCopy, under lock: borrowing VaultsLock
  ) async throws(VaultError) {
    let found = try await copy.content()
    if case .absent = found { return }
    let needed = try VaultFiles.keyIDs(in: lock.folder)
    switch (found, try await staying.content()) {
    case (_, .closed): throw .wrongKey("the key cannot be read from the place where it stays")
    case (_, .absent):
      guard needed.isEmpty else { throw VaultKey.missing }
    case (let found, .key(let kept)):
      guard let id = kept.withExposedBytes(SealingKey.init)?.id else { throw VaultKey.missing }
      if case .key(let key) = found, key == kept {
        let known = needed.subtracting([nil])
        guard known.isEmpty || known.contains(id) else { throw .wrongKey("the key opens none of the vaults") }
      } else {
        guard needed.isSubset(of: [id]) else { throw .wrongKey("a second place may hold the key of a vault") }
      }
    }
    try await copy.remove(VaultKeyRemoval())
  }
}

extension VaultFiles {
  /// The IDs of the keys that the files in `folder` need; `nil` stands for files that do not tell.
  fileprivate static func keyIDs(in folder: PosixFile) throws(VaultError) -> Set<[UInt8]?> {
    var found: Set<[UInt8]?> = []
    let names = try folder.names()
    for name in names where !folder.isOtherThanFile(name) {
      guard let bytes = try folder.open(name, flags: O_RDONLY)?.readAll(limit: SealedFormat.headerCount + 16) else {
        continue
      }
      do throws(VaultError) { found.insert(try SealedFormat.Header(bytes).keyID) } catch {
        // The key of an audit log is that of the vault beside it.
        let vault = String(name.prefix { $0 != "." }) + vaultEnding
        if error != .corrupt || needsKey(name) && (name == vault || !names.contains(vault)) { found.insert(nil) }
      }
    }
    return found
  }
}

/// The file beside the vaults, as a place of their key.
struct KeyBesideVaults: VaultKeyCopy {
  private let file: VaultKeyFile

  init(_ folder: PosixFile) { file = VaultKeyFile(beside: folder) }

  @concurrent func load() async throws(VaultError) -> Secret? { try file.loadSecret() }
  @concurrent func store(_ key: Secret) async throws(VaultError) { _ = try file.make(key) }
  @concurrent func remove(_ permission: borrowing VaultKeyRemoval) async throws(VaultError) {
    try file.remove(permission)
  }
}
