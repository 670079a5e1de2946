public import HandstampCore
import HandstampSupport

/// The source of a ``SealedFileVault``'s key.
@nonexhaustive
public enum VaultKey: Sendable, Hashable {
  /// A key file beside the vault, created with the first vault. It is protected by its file mode only: anyone who can
  /// read the folder, a backup of it or the whole disk reads both. Only the owner may have access.
  case fileInVaultFolder
  /// A key file at another absolute path, created with the first vault if missing; its folder must exist. The group may
  /// have read access.
  case file(String)
  /// A key sealed with a passphrase, in the passphrase's folder. The vault is ``VaultError/locked`` until the
  /// passphrase is entered. The passphrase must be set before the first vault is written, which otherwise fails with
  /// ``VaultError/passphrase(_:)``.
  case passphrase(Passphrase)
  /// A key in another store, such as the desktop's, created with the first vault. While that store is locked, so is the
  /// vault.
  case managed(by: ManagedVaultKey)
  /// A key supplied by the program: at least 32 bytes from a random source; fewer are ``VaultError/wrongKey(_:)``. A
  /// password is not a key.
  case raw(Secret)
}

/// A key file: an eight-byte signature, the key, and four bytes of checksum.
struct VaultKeyFile {
  private static let magic = Array("HSTVKEY1".utf8)
  private static let count = 8 + SealingKey.byteCount + 4
  /// The name beside vaults.
  static let name = "vault.key"

  private let folder: PosixFile
  private let name: String
  /// The permission bits that the file must not have.
  private let forbidden: UInt32

  init(beside folder: PosixFile) {
    self.folder = folder
    name = VaultKeyFile.name
    forbidden = 0o077
  }

  init(path: String) throws(VaultError) {
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), path[slash...].count > 1 else {
      throw .unavailable("the path of the key file must be absolute")
    }
    guard let folder = try PosixFile.folder(slash > path.startIndex ? String(path[..<slash]) : "/") else {
      throw .unavailable("the folder of the key file is missing")
    }
    self.folder = folder
    name = String(path[path.index(after: slash)...])
    forbidden = 0o027
  }

  /// Returns the key, or `nil` if there is no such file.
  func load() throws(VaultError) -> SealingKey? {
    try loadSecret()?.withExposedBytes(SealingKey.init)
  }

  func loadSecret() throws(VaultError) -> Secret? {
    guard let file = try folder.open(name, flags: O_RDONLY) else { return nil }
    let status = try file.status()
    guard status.isRegular else { throw .unavailable("the key file is not a regular file") }
    guard status.mode & forbidden == 0 else {
      throw .permissions("other users can access the key file: its mode should be 0600")
    }
    guard let key = try parse(file) else { throw .wrongKey("the key file is damaged") }
    return key
  }

  /// Returns the key in `file`, or `nil` if the file is damaged.
  func parse(_ file: PosixFile) throws(VaultError) -> Secret? {
    var bytes = try file.readAll(limit: VaultKeyFile.count)
    defer { wipe(&bytes) }
    guard bytes.count == VaultKeyFile.count, bytes.starts(with: VaultKeyFile.magic),
      SealedFormat.check(bytes[..<40]).elementsEqual(bytes[40...])
    else { return nil }
    return Secret(bytes: bytes[8..<40])
  }

  /// Removes the file. The removal is durable on return.
  func remove(_ permission: borrowing VaultKeyRemoval) throws(VaultError) {
    try folder.remove(name)
    try sync()
  }

  /// Creates the file, with a new key unless one is given. If another process was faster, returns that process's key.
  /// The file is durable on return.
  func make(_ key: Secret? = nil) throws(VaultError) -> SealingKey {
    var random = SystemRandomNumberGenerator()
    var bytes = VaultKeyFile.magic
    bytes.reserveCapacity(VaultKeyFile.count)
    if let key {
      key.withExposedBytes { bytes += $0.prefix(SealingKey.byteCount) }
    } else {
      for _ in 0..<SealingKey.byteCount { bytes.append(.random(in: .min ... .max, using: &random)) }
    }
    bytes += SealedFormat.check(bytes[...])
    defer { wipe(&bytes) }
    // Replaces no other key.
    _ = try folder.add(name, with: bytes, partial: "\(name).\(VaultFiles.newPartial())", content: name)
    guard let key = try load() else { throw .wrongKey("the key file is missing") }
    try sync()
    return key
  }

  /// Makes the key file's name durable.
  func sync() throws(VaultError) { try folder.sync(attempt: "syncing the folder of \(name)") }
}

extension VaultKey {
  /// A new key could not open what is there.
  static let missing = VaultError.wrongKey(
    "the key file is missing, and there are vaults or audit logs that need it")

  /// A second key would be created.
  static let elsewhere = VaultError.wrongKey("the key of these vaults is stored elsewhere")

  /// Loads a key from its store. Call before ``load(for:)`` and ``settle(for:isNeeded:)``.
  func find() async throws(VaultError) {
    if case .managed(let kept) = self { try await kept.find() }
  }

  /// Creates a key in its store if there is none and nothing in the folder needs it. The caller holds the lock of the folder.
  func make(for folder: PosixFile) async throws(VaultError) {
    guard case .managed(let kept) = self, kept.key == nil else { return }
    if let noted = kept.noted, try VaultKeyPlace.note(in: folder).place != noted { throw VaultKey.elsewhere }
    guard try !VaultFiles.needKey(folder.names()) else { throw VaultKey.missing }
    try await kept.make()
  }

  /// Returns the key, or `nil` if its file is missing.
  func load(for folder: PosixFile) throws(VaultError) -> SealingKey? {
    switch self {
    case .fileInVaultFolder: return try VaultKeyFile(beside: folder).load()
    case .file(let path): return try VaultKeyFile(path: path).load()
    case .passphrase(let passphrase): return try passphrase.key()
    case .managed(let kept): return kept.key
    case .raw(let secret):
      guard let key = secret.withExposedBytes(SealingKey.init) else {
        throw .wrongKey("the given key has fewer than \(SealingKey.byteCount) bytes")
      }
      return key
    }
  }

  /// Returns the key for a first write, durable on return. Creates it if there is none, unless `isNeeded`: then an
  /// existing vault needs the missing key.
  func settle(for folder: PosixFile, isNeeded: Bool) throws(VaultError) -> SealingKey {
    let file: VaultKeyFile
    switch self {
    case .fileInVaultFolder:
      // A program that does not look at the note must not make a second key.
      if try VaultKeyPlace.note(in: folder).place != VaultKeyPlace.Note.file { throw VaultKey.elsewhere }
      file = VaultKeyFile(beside: folder)
    case .file(let path): file = try VaultKeyFile(path: path)
    case .passphrase(let passphrase):
      if let key = try passphrase.key() { return key }
      throw isNeeded ? VaultKey.missing : .passphrase("no passphrase has been set")
    case .managed(let kept):
      if let key = kept.key { return key }
      throw isNeeded ? VaultKey.missing : .unavailable("no key has been created yet")
    case .raw:
      guard let key = try load(for: folder) else { throw VaultKey.missing }
      return key
    }
    if let key = try file.load() {
      // May come from a process that died before it could sync.
      try file.sync()
      return key
    }
    if isNeeded { throw VaultKey.missing }
    return try file.make()
  }
}
