public import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Where the key of a ``SealedFileVault`` comes from.
@nonexhaustive
public enum VaultKey: Sendable, Hashable {
  /// A key file beside the vault, made with the first vault. It protects by its file mode only: who can read the folder,
  /// a back-up of it or the whole disk reads both. Nobody but its owner may be able to read it.
  case fileBeside
  /// A key file in some other place, absolute, made with the first vault when it is missing; its folder must be there.
  /// Its owner and its group may be able to read it.
  case file(String)
  /// A key that is sealed with a passphrase, in the passphrase's folder. Until it was given, the vault is
  /// ``VaultTrouble/locked``; it must be set before the first vault is written.
  case passphrase(Passphrase)
  /// A key that some other store keeps, such as the desktop's, made with the first vault. While that store is locked, so is the
  /// vault.
  case kept(KeptKey)
  /// A key that is handed in: at least 32 bytes of a random source. A password is no key.
  case given(Secret)
}

/// A key file: eight bytes that say what it is, the key, and four bytes by which a damaged one is recognised.
struct KeyFile {
  private static let magic = Array("HSTVKEY1".utf8)
  private static let count = 8 + SealingKey.byteCount + 4
  /// Beside vaults.
  static let name = "vault.key"

  private let folder: PosixFile
  private let name: String
  /// Permission bits that the file must not have.
  private let forbidden: UInt32

  init(beside folder: PosixFile) {
    self.folder = folder
    name = KeyFile.name
    forbidden = 0o077
  }

  init(path: String) throws(VaultTrouble) {
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), path[slash...].count > 1 else {
      throw .unavailable("the path of a key file must be absolute")
    }
    guard let folder = try PosixFile.folder(slash > path.startIndex ? String(path[..<slash]) : "/") else {
      throw .unavailable("the folder of the key file is missing")
    }
    self.folder = folder
    name = String(path[path.index(after: slash)...])
    forbidden = 0o027
  }

  /// Nothing when there is no such file.
  func load() throws(VaultTrouble) -> SealingKey? {
    try loadSecret()?.withExposedBytes(SealingKey.init)
  }

  func loadSecret() throws(VaultTrouble) -> Secret? {
    guard let file = try folder.open(name, flags: O_RDONLY) else { return nil }
    let status = try file.status()
    guard status.isRegular else { throw .unavailable("there is something else in place of the key file") }
    guard status.mode & forbidden == 0 else {
      throw .unavailable("the key file is open to others: its mode should be 0600")
    }
    guard let key = try parse(file) else { throw .unavailable("the key file is damaged") }
    return key
  }

  /// The key that `file` holds; `nil`: it is damaged.
  func parse(_ file: PosixFile) throws(VaultTrouble) -> Secret? {
    var bytes = try file.readAll(limit: KeyFile.count)
    defer { wipe(&bytes) }
    guard bytes.count == KeyFile.count, bytes.starts(with: KeyFile.magic),
      SealedFormat.check(bytes[..<40]).elementsEqual(bytes[40...])
    else { return nil }
    return Secret(bytes: bytes[8..<40])
  }

  /// It is gone from the disk when this returns.
  func remove() throws(VaultTrouble) {
    try folder.remove(name)
    try sync()
  }

  /// Makes the file, of a new key unless one is given, unless another process was quicker; then that one. It is on the disk
  /// when this returns.
  func make(_ key: Secret? = nil) throws(VaultTrouble) -> SealingKey {
    var random = SystemRandomNumberGenerator()
    var bytes = KeyFile.magic
    bytes.reserveCapacity(KeyFile.count)
    if let key {
      key.withExposedBytes { bytes += $0.prefix(SealingKey.byteCount) }
    } else {
      for _ in 0..<SealingKey.byteCount { bytes.append(.random(in: .min ... .max, using: &random)) }
    }
    bytes += SealedFormat.check(bytes[...])
    defer { wipe(&bytes) }
    let partial = "\(name).\(UInt64.random(in: 0 ... .max, using: &random))\(VaultFiles.partialEnding)"
    do throws(VaultTrouble) {
      let file = try folder.create(partial)
      try file.write(bytes, attempt: "writing \(name)")
      try file.sync(attempt: "syncing \(name)")
      // A link shows the key whole or not at all, and replaces none.
      _ = try folder.link(partial, as: name)
      try folder.remove(partial)
    } catch {
      try? folder.remove(partial)
      throw error
    }
    guard let key = try load() else { throw .unavailable("the key file is missing") }
    try sync()
    return key
  }

  /// Returns when the key file's name has reached the disk.
  func sync() throws(VaultTrouble) { try folder.sync(attempt: "syncing the folder of \(name)") }
}

extension VaultKey {
  /// A new key could not open what is there.
  static let missing = VaultTrouble.unavailable(
    "the key file is missing, and there are vaults that were sealed with it")

  /// Brings a key that has to be asked for. Before ``load(for:)`` and ``settle(for:isNeeded:)``.
  func find() async throws(VaultTrouble) {
    if case .kept(let kept) = self { try await kept.find() }
  }

  /// Makes a key that is kept elsewhere, under the lock of the folder: where there is none, and no vault needs it.
  func make(for folder: PosixFile) async throws(VaultTrouble) {
    guard case .kept(let kept) = self, kept.key == nil else { return }
    guard try !folder.names().contains(where: { $0.hasSuffix(VaultFiles.vaultEnding) }) else { throw VaultKey.missing }
    try await kept.make()
  }

  /// The key; nothing when its file is missing.
  func load(for folder: PosixFile) throws(VaultTrouble) -> SealingKey? {
    switch self {
    case .fileBeside: return try KeyFile(beside: folder).load()
    case .file(let path): return try KeyFile(path: path).load()
    case .passphrase(let passphrase): return try passphrase.key()
    case .kept(let kept): return kept.key
    case .given(let secret):
      guard let key = secret.withExposedBytes(SealingKey.init) else {
        throw .unavailable("the key that was handed in has fewer than \(SealingKey.byteCount) bytes")
      }
      return key
    }
  }

  /// The key for a first write, on the disk when this returns. Where there is none it is made, unless `isNeeded`: then some
  /// vault needs the one that is missing.
  func settle(for folder: PosixFile, isNeeded: Bool) throws(VaultTrouble) -> SealingKey {
    let file: KeyFile
    switch self {
    case .fileBeside:
      // A program that does not look at the note must not make a second key.
      if try VaultKeyPlace.note(in: folder) != nil { throw .unavailable("the key of these vaults is kept elsewhere") }
      file = KeyFile(beside: folder)
    case .file(let path): file = try KeyFile(path: path)
    case .passphrase(let passphrase):
      if let key = try passphrase.key() { return key }
      throw isNeeded ? VaultKey.missing : .unavailable("no passphrase has been set")
    case .kept(let kept):
      if let key = kept.key { return key }
      throw isNeeded ? VaultKey.missing : .unavailable("no key has been made yet")
    case .given:
      guard let key = try load(for: folder) else { throw VaultKey.missing }
      return key
    }
    if let key = try file.load() {
      // Perhaps made by a process that died before it could sync.
      try file.sync()
      return key
    }
    if isNeeded { throw VaultKey.missing }
    return try file.make()
  }
}
