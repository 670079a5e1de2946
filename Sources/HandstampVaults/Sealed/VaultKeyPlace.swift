public import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Where the key of a folder of vaults is: in the file beside them, or in a ``VaultKeyStore`` that a note in the folder names.
/// For programs that let their user choose.
///
/// A program reads the ``note()``, and from it knows what to open the vaults with; it never tries one place after the other.
public struct VaultKeyPlace: Sendable {
  package static let noteName = "vault.key-store"

  public let folder: String

  /// - Parameter folder: of the vaults, absolute.
  public init(folder: String) { self.folder = folder }

  /// What was noted when the key went into a store; nothing while it is, or will be, in the file beside the vaults.
  public func note() throws(VaultTrouble) -> String? {
    guard let folder = try VaultFolder(folder).open() else { return nil }
    return try VaultKeyPlace.note(in: folder)
  }

  /// Moves the key from its file into `store`, and notes `text`. A kill at any instant leaves a key that opens the vaults; the
  /// same call again finishes what was begun. Vaults that are open with the key file say ``VaultTrouble/unavailable(_:)``
  /// from then on.
  ///
  /// - Parameter text: what the program finds the store by, one line of at most 1,000 bytes.
  /// - Throws: what the store throws; ``VaultTrouble/unavailable(_:)`` when it holds another key already.
  @concurrent public func move(to store: any VaultKeyStore, noting text: String) async throws(VaultTrouble) {
    guard (1...1000).contains(text.utf8.count), !text.contains(where: \.isNewline) else {
      throw .unavailable("a note is one line of at most 1,000 bytes")
    }
    let folder = try VaultFolder(folder).openOrMake()
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    let noted = try VaultKeyPlace.note(in: folder)
    guard noted == nil || noted == text else { throw .unavailable("the key is kept elsewhere already") }
    let file = KeyFile(beside: folder)
    if let key = try file.loadSecret() {
      if try await store.load() == nil { try await store.store(key) }
      guard try await store.load() == key else { throw .unavailable("the key store holds another key") }
    } else if noted == nil {
      if try VaultKeyPlace.hasVaults(folder) { throw VaultKey.missing }
      try await KeptKey(in: store).make()
    }
    if noted == nil { try VaultKeyPlace.write(text, in: folder) }
    try file.remove()
  }

  /// Moves the key from `store` into a file beside the vaults, and forgets the note. The store still has it then, and may be told
  /// to remove it.
  ///
  /// - Throws: what the store throws; ``VaultTrouble/unavailable(_:)`` when it has no key and some vault needs one.
  @concurrent public func moveBack(from store: any VaultKeyStore) async throws(VaultTrouble) {
    guard let folder = try VaultFolder(folder).open() else { return }
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    guard try VaultKeyPlace.note(in: folder) != nil else { return }
    let file = KeyFile(beside: folder)
    if let key = try await store.load() {
      if try file.loadSecret() == nil { _ = try file.make(key) }
      guard try file.loadSecret() == key else { throw .unavailable("the key file holds another key") }
    } else if try VaultKeyPlace.hasVaults(folder) {
      throw VaultKey.missing
    }
    try folder.remove(VaultKeyPlace.noteName)
    try folder.sync(attempt: "syncing the vault's folder")
  }

  static func note(in folder: PosixFile) throws(VaultTrouble) -> String? {
    guard let file = try folder.open(noteName, flags: O_RDONLY) else { return nil }
    guard try file.status().isRegular else { throw .unavailable("there is something else in place of \(noteName)") }
    let bytes = try file.readAll(limit: 1001)
    guard bytes.last == 10, let text = String(utf8Bytes: bytes.dropLast()), !text.isEmpty else {
      throw .unavailable("\(noteName) is damaged")
    }
    return text
  }

  private static func hasVaults(_ folder: PosixFile) throws(VaultTrouble) -> Bool {
    try folder.names().contains { $0.hasSuffix(VaultFiles.vaultEnding) || $0.hasSuffix(VaultFiles.auditEnding) }
  }

  private static func write(_ text: String, in folder: PosixFile) throws(VaultTrouble) {
    let partial = "\(noteName)\(VaultFiles.partialEnding)"
    // Only ever made under the lock: it is of a process that died.
    try folder.remove(partial)
    let file = try folder.create(partial)
    try file.write(Array(text.utf8) + [10], attempt: "writing \(noteName)")
    try file.sync(attempt: "syncing \(noteName)")
    try folder.rename(partial, to: noteName)
    try folder.sync(attempt: "syncing the vault's folder")
  }
}
