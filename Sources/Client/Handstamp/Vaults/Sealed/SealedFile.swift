package import HandstampCore
import HandstampSupport

/// An account's file beside its vault, in the vault's format. It is accessible by its owner only and replaced atomically, and
/// writes are durable on return.
package struct SealedFile: Sendable {
  private let vault: SealedFileVault
  private let purpose: String
  private let name: String
  private let limit: Int

  /// - Parameters:
  ///   - vault: The vault whose folder and key the file shares.
  ///   - purpose: The file's extension; also part of the key derivation.
  ///   - limit: The maximum size in bytes; larger files are treated as corrupt.
  package init(beside vault: SealedFileVault, account: AccountID, purpose: String, limit: Int) {
    self.vault = SealedFileVault(in: vault.place, account: account, key: vault.key)
    self.purpose = purpose
    self.limit = limit
    name = VaultFiles.digest(of: account) + "." + purpose
  }

  /// Returns the file's content, or `nil` if there is no file.
  ///
  /// - Throws: ``VaultError/corrupt`` if the bytes were changed, ``VaultError/unavailable(_:)`` if the key is
  ///   missing or does not match.
  package func read() throws(VaultError) -> [UInt8]? {
    guard let folder = try vault.place.open(), let file = try folder.open(name, flags: O_RDONLY) else { return nil }
    let bytes = try file.readAll(limit: limit)
    guard bytes.count <= limit else { throw .corrupt }
    _ = try SealedFormat.Header(bytes)
    guard let key = try vault.key.load(for: folder) else { throw VaultKey.missing }
    return try SealedFormat.open(bytes, of: content, key: key) { Array($1) }
  }

  private var content: SealedFormat.Content { .file(purpose: purpose, vault.account) }

  /// Returns the content as a secret, first asking for the key if need be: a passphrase, or a desktop's secret store.
  @concurrent package func secret() async throws(VaultError) -> Secret? {
    try await vault.key.find()
    guard var bytes = try read() else { return nil }
    defer { wipe(&bytes) }
    return Secret(bytes: bytes[...])
  }

  /// Replaces the file's content by a secret, first asking for the key, or creating it if there is none.
  @concurrent package func save(_ secret: Secret) async throws(VaultError) {
    let folder = try vault.place.openOrMake()
    try await vault.key.find()
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    try await vault.key.make(for: folder)
    var bytes = secret.withExposedBytes { Array($0) }
    defer { wipe(&bytes) }
    try write(bytes)
  }

  /// Replaces the file's content. A crash at any instant leaves either the old content or the new one.
  package func write(_ content: [UInt8]) throws(VaultError) {
    let folder = try vault.place.openOrMake()
    let names = try folder.names()
    vault.place.excludeFromBackups(folder, names: names)
    let key = try vault.key.settle(for: folder, isNeeded: names.contains(name) || VaultFiles.needKey(names))
    let sealed = try SealedFormat.seal(content, of: self.content, key: key)
    // A fixed partial name: there is only one writer.
    try folder.replace(name, with: sealed, partial: name + "-new", content: purpose)
    try folder.sync(attempt: "syncing the folder of \(purpose)")
  }

  /// Removes the file and its leftovers.
  package func remove() throws(VaultError) {
    guard let folder = try vault.place.open() else { return }
    for found in try folder.names() where found == name || found.hasPrefix(name + "-") { try folder.remove(found) }
    try folder.sync(attempt: "syncing the folder of \(purpose)")
  }

  /// Renames an unreadable file, so that nothing is lost.
  package func setAside() throws(VaultError) {
    guard let folder = try vault.place.open() else { return }
    try folder.rename(name, to: VaultFiles.free("\(name)-corrupt-", among: folder.names()))
    try folder.sync(attempt: "syncing the folder of \(purpose)")
  }

  /// Takes the right to write, held by one process at a time and released by the kernel if it dies. Returns `nil` if
  /// another process has it.
  @concurrent package func own() async throws(VaultError) -> (any VaultLock)? {
    let folder = try vault.place.openOrMake()
    try await vault.key.find()
    let lock = try LockFile(name + ".lock", in: folder)
    guard try await lock.take(until: .now, pauses: .inFlight) else { return nil }
    try await makeKey(in: folder)
    return lock
  }

  /// Creates the key of the first write, if it is not in a file.
  private func makeKey(in folder: PosixFile) async throws(VaultError) {
    guard case .managed(let kept) = vault.key, kept.key == nil, try !folder.names().contains(name) else { return }
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    try await vault.key.make(for: folder)
  }
}
