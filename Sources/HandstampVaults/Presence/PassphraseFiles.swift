import HandstampCore
import HandstampSupport

/// The files of a passphrase, accessed while holding its lock.
struct PassphraseFiles {
  static let name = "passphrase.key"
  static let lock = "passphrase.lock"
  private static let new = "passphrase.key-new"

  let folder: PosixFile

  /// Returns the header, or `nil` if no passphrase has been set.
  func load() throws(PassphraseError) -> PassphraseFormat.Header? {
    let file = try stored { () throws(VaultError) -> [UInt8]? in
      guard let file = try folder.open(PassphraseFiles.name, flags: O_RDONLY) else { return nil }
      guard try file.status().mode & 0o077 == 0 else {
        throw .permissions("other users can access the passphrase file: its mode should be 0600")
      }
      return try file.readAll(limit: PassphraseFormat.count)
    }
    guard let file else { return nil }
    return try PassphraseFormat.Header(file)
  }

  /// Returns the key of the existing vaults, or a new key if there are no vaults yet.
  func keyToSeal() throws(PassphraseError) -> Secret {
    let key = try stored { () throws(VaultError) -> Secret? in
      if let key = try VaultKeyFile(beside: folder).loadSecret() { return key }
      if try VaultFiles.needKey(folder.names()) { return nil }
      var bytes = randomBytes(SealingKey.byteCount)
      defer { wipe(&bytes) }
      return Secret(bytes: bytes)
    }
    guard let key else { throw .otherKey }
    return key
  }

  /// Replaces the file atomically. It is durable on return.
  func store(
    _ key: Secret, _ passphrase: Secret, cost: PassphraseCost, stretch: @escaping PassphraseStretch
  ) async throws(PassphraseError) {
    let sealed = try await derived { () throws(PassphraseError) in
      try PassphraseText.withBytes(of: passphrase) { text throws(PassphraseError) in
        var bytes = key.withExposedBytes { Array($0) }
        defer { wipe(&bytes) }
        return try PassphraseFormat.seal(bytes, with: text, cost: cost, stretch: stretch)
      }
    }
    try stored { () throws(VaultError) in
      // A fixed partial name: it is created only under the lock.
      try folder.replace(
        PassphraseFiles.name, with: sealed, partial: PassphraseFiles.new, content: "the sealed key")
      try folder.sync(attempt: "syncing the vault's folder")
    }
  }

  /// Removes the sealed key. The removal is durable on return.
  func remove() throws(PassphraseError) {
    try stored { () throws(VaultError) in
      try folder.remove(PassphraseFiles.name)
      try folder.sync(attempt: "syncing the vault's folder")
    }
  }

  /// Removes the key file, which must not remain beside its sealed copy.
  func removeKeyFile(ifItHolds key: Secret? = nil) throws(PassphraseError) {
    try stored { () throws(VaultError) in
      let file = VaultKeyFile(beside: folder)
      guard let found = try file.loadSecret(), key == nil || key == found else { return }
      try file.remove()
    }
  }

  private func stored<Result>(_ body: () throws(VaultError) -> Result) throws(PassphraseError) -> Result {
    do throws(VaultError) { return try body() } catch { throw .storage(error) }
  }
}
