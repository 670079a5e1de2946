package import HandstampCore
import HandstampSupport

/// The location of the key for a folder of vaults: the file beside them, or a ``VaultKeyStore`` named by a note in the
/// folder. For programs that let their users choose.
///
/// A program reads the ``note()`` to learn where the key is; it never tries one place after another.
package struct VaultKeyPlace: Sendable {
  package static let noteName = "vault.key-store"

  package let folder: String

  /// - Parameter folder: The absolute path of the vaults' folder.
  package init(folder: String) { self.folder = folder }

  /// Returns the note left when the key was moved into a store, or `nil` while the key is, or will be, in the file
  /// beside the vaults.
  package func note() throws(VaultError) -> String? {
    guard let folder = try VaultFolder(folder).open() else { return nil }
    return try VaultKeyPlace.note(in: folder)
  }

  /// Moves the key from its file into `store`, and notes `text`. A kill at any instant leaves a key that opens the
  /// vaults; repeating the call completes the move. From then on, vaults opened with the key file are
  /// ``VaultError/unavailable(_:)``.
  ///
  /// - Parameter text: Identifies the store to the program; one line of at most 1,000 bytes.
  /// - Throws: The errors of the store; ``VaultError/unavailable(_:)`` if it already holds another key.
  @concurrent package func move(to store: any VaultKeyStore, noting text: String) async throws(VaultError) {
    guard (1...1000).contains(text.utf8.count), !text.contains(where: \.isNewline) else {
      throw .unavailable("a note is one line of at most 1,000 bytes")
    }
    let folder = try VaultFolder(folder).openOrMake()
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    let noted = try VaultKeyPlace.note(in: folder)
    guard noted == nil || noted == text else { throw .unavailable("the key is already stored elsewhere") }
    let file = VaultKeyFile(beside: folder)
    if let key = try file.loadSecret() {
      if try await store.load() == nil { try await store.store(key) }
      guard try await store.load() == key else { throw .wrongKey("the key store holds another key") }
    } else if noted == nil {
      if try VaultFiles.needKey(folder.names()) { throw VaultKey.missing }
      try await ManagedVaultKey(in: store).make()
    }
    if noted == nil { try VaultKeyPlace.write(text, in: folder) }
    try file.remove()
  }

  /// Moves the key from `store` into a file beside the vaults, and removes the note. The store keeps its copy, which
  /// may be removed afterwards.
  ///
  /// - Throws: The errors of the store; ``VaultError/unavailable(_:)`` if it has no key and a vault needs one.
  @concurrent package func moveBack(from store: any VaultKeyStore) async throws(VaultError) {
    guard let folder = try VaultFolder(folder).open() else { return }
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    guard try VaultKeyPlace.note(in: folder) != nil else { return }
    let file = VaultKeyFile(beside: folder)
    if let key = try await store.load() {
      if try file.loadSecret() == nil { _ = try file.make(key) }
      guard try file.loadSecret() == key else { throw .wrongKey("the key file holds another key") }
    } else if try VaultFiles.needKey(folder.names()) {
      throw VaultKey.missing
    }
    try folder.remove(VaultKeyPlace.noteName)
    try folder.sync(attempt: "syncing the vault's folder")
  }

  /// Makes the key file beside the vaults if there is no key yet. Returns whether it was made.
  ///
  /// - Throws: ``VaultError/wrongKey(_:)`` if the key is missing and a vault needs it, or stored elsewhere.
  @concurrent package func makeFile() async throws(VaultError) -> Bool {
    let folder = try VaultFolder(folder).openOrMake()
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    if try VaultKeyFile(beside: folder).load() != nil { return false }
    _ = try VaultKey.fileInVaultFolder.settle(for: folder, isNeeded: VaultFiles.needKey(folder.names()))
    return true
  }

  static func note(in folder: PosixFile) throws(VaultError) -> String? {
    guard let file = try folder.open(noteName, flags: O_RDONLY) else { return nil }
    guard try file.status().isRegular else { throw .unavailable("there is something else in place of \(noteName)") }
    let bytes = try file.readAll(limit: 1001)
    guard bytes.last == 10, let text = String(utf8Bytes: bytes.dropLast()), !text.isEmpty else {
      throw .wrongKey("\(noteName) is damaged")
    }
    return text
  }

  private static func write(_ text: String, in folder: PosixFile) throws(VaultError) {
    // A fixed partial name: it is created only under the lock.
    try folder.replace(
      noteName, with: Array(text.utf8) + [10], partial: noteName + VaultFiles.partialEnding, content: noteName)
    try folder.sync(attempt: "syncing the vault's folder")
  }
}
