#if Command
import Crypto
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// The folder of one installation, with its vaults, locks, settings and device ID.
struct Home: Sendable, Hashable {
  /// Absolute.
  var path: String
  /// The key that opens the vaults.
  var key = VaultKey.fileInVaultFolder

  init(path: String) { self.path = path }

  /// `HANDSTAMP_HOME`, else the state folder of the XDG base directory specification; with the key that its note named when this
  /// process first asked.
  static func current() throws(CommandError) -> Home { try found.get() }

  private static let found = Result { () throws(CommandError) -> Home in
    let home = Home(path: try place())
    // Its files would lock out the user whose home it is.
    if geteuid() == 0, let folder = FileFacts.ofFolder(home.path), folder.owner != 0 {
      throw CommandError(
        .usage, "root in the folder of another user: \(home.path)",
        hint: "run it as that user: sudo -u \(folder.ownerName) handstamp, or set HANDSTAMP_HOME to a folder of root's")
    }
    try home.check()
    return home.withNotedKey
  }

  /// The folders as this process has found them first.
  private static let seen = Locked<[String: FileIdentity]>([:])

  /// Refuses if the folder is not the one that this process found first. Whatever is missing then is elsewhere: it must not be taken
  /// for absent, and not be begun anew.
  func check() throws(CommandError) {
    // Of a folder only: anything else in its place is set aside by a repair.
    let found = FileIdentity(path: path + "/.")
    let first = Home.seen.withLock { seen in
      seen[path] = seen[path] ?? found
      return seen[path]
    }
    guard found == first else {
      throw CommandError(
        .vault, "\(path) is gone, or another folder is in its place",
        hint: "move it back or mount its disk; or set HANDSTAMP_HOME to its new path, and start this command again")
    }
  }

  /// The same folder, with the key that its note names now.
  var withNotedKey: Home {
    var home = self
    // If the folder cannot be read, reading the vault reports the error.
    if let store = try? keyStore() { home.key = store.key }
    return home
  }

  private static func place() throws(CommandError) -> String {
    if let path = ProcessEnvironment["HANDSTAMP_HOME"] {
      return path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
    // The specification requires ignoring relative paths.
    if let state = ProcessEnvironment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/handstamp" }
    guard let user = ProcessEnvironment["HOME"], user.hasPrefix("/") else {
      throw CommandError(
        .failure, "no folder for the vault", hint: "set HOME, or HANDSTAMP_HOME to a folder of your own")
    }
    return user + "/.local/state/handstamp"
  }

  var vaultFolder: String { path + "/vault" }
  var settingsPath: String { path + "/settings.json" }
  var devicePath: String { path + "/device" }

  /// Returns the vault of one account at one server, so that no part of a session is ever sent to another server.
  func vault(of account: AccountID) -> SealedFileVault {
    SealedFileVault(folder: vaultFolder, account: account, key: key)
  }

  var keyPlace: VaultKeyPlace {
    VaultKeyPlace(folder: vaultFolder) { KeyStore(note: $0, folder: vaultFolder).keeper }
  }

  func keyStore() throws(CommandError) -> KeyStore {
    do throws(VaultError) {
      return KeyStore(note: try keyPlace.note().place, folder: vaultFolder)
    } catch {
      throw CommandError(error)
    }
  }

  var keyFile: String { vaultFolder + "/vault.key" }

  /// The list of accounts, stored beside their vaults.
  var accounts: FileAccountsStore { FileAccountsStore(folder: vaultFolder) }

  /// Returns the stored settings, which are empty before the first sign-in.
  func settings() throws(CommandError) -> Settings {
    guard let bytes = try content(of: settingsPath) else { return Settings() }
    do { return try JSONDecoder().decode(Settings.self, from: Data(bytes)) } catch {
      throw unreadable(settingsPath, bytes.isEmpty ? "it is empty" : "it is damaged")
    }
  }

  func save(_ settings: Settings) throws(CommandError) {
    try write(settings, to: settingsPath, isPretty: true)
  }

  /// Returns the device ID of this installation, created on first use. Two processes that create it at the same time agree.
  func device() throws(CommandError) -> DeviceID {
    if let known = try knownDevice() { return known }
    do {
      try makeFolder(path)
      _ = try AtomicFile.create(devicePath, with: Array(UUID().uuidString.lowercased().utf8))
    } catch {
      throw unwritable()
    }
    guard let drawn = try knownDevice() else { throw unwritable() }
    return drawn
  }

  /// Returns the device ID of this installation; `nil` before its first use.
  func knownDevice() throws(CommandError) -> DeviceID? {
    guard let bytes = try content(of: devicePath, limit: 1000) else { return nil }
    let text = String(utf8Bytes: bytes)?.trimmed
    if text?.isEmpty == true { throw unreadable(devicePath, "it is empty") }
    guard let text, text.utf8.count <= 100,
      text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else { throw unreadable(devicePath, "it is damaged") }
    return DeviceID(text)
  }

  /// `nil` if there is no such file.
  private func content(of path: String, limit: Int = 8 << 20) throws(CommandError) -> [UInt8]? {
    switch PlainFile.read(path, limit: limit) {
    case .absent:
      try check()
      return nil
    case .unreadable(let why): throw unreadable(path, why)
    case .content(let bytes): return bytes
    }
  }

  /// Whether this user can make the folder: the nearest one above it that is there is writable.
  var canBeMade: Bool {
    var folder = (path as NSString).deletingLastPathComponent
    while access(folder, F_OK) != 0, folder.count > 1 { folder = (folder as NSString).deletingLastPathComponent }
    return access(folder, W_OK | X_OK) == 0
  }

  private func unreadable(_ path: String, _ why: String) -> CommandError {
    CommandError(.failure, "cannot read \(path): \(why)", hint: "run: handstamp doctor --fix", concernsHome: true)
  }

  func unwritable() -> CommandError {
    let isDenied = access(path, F_OK) == 0 ? access(path, W_OK | X_OK) != 0 : !canBeMade
    return CommandError(
      .vault, "cannot write to \(path)", hint: "check its owner, mode and disk, or set HANDSTAMP_HOME",
      concernsHome: true, code: isDenied ? "storage_permissions" : nil)
  }
}

/// Stored settings. None of them is secret.
struct Settings: Codable, Hashable, Sendable {
  /// The server of the last sign-in.
  var server: ServerAddress?
  /// Every server that was signed in to. If the list of accounts is lost, vaults are identified by these.
  var servers: [ServerAddress]?
}

/// Files of the home in JSON, for their owner alone. Nothing in them is secret.
extension Home {
  /// The path of a file in a folder of the home. Its name is a digest of `text`: it reveals nothing, and is never too long.
  func file(in folder: String, for text: String, ending: String = "json") -> String {
    "\(path)/\(folder)/\(Hexadecimal.text(SHA256.hash(data: Array(text.utf8)))).\(ending)"
  }

  /// Replaces a file by a value in JSON, and makes its folder if it is missing.
  ///
  /// - Parameter isPretty: whether it is laid out for people.
  func write(_ value: some Encodable, to path: String, isPretty: Bool = false) throws(CommandError) {
    do {
      try makeFolder((path as NSString).deletingLastPathComponent)
      try AtomicFile.replace(path, with: value.jsonBytes(isPretty: isPretty))
    } catch {
      throw unwritable()
    }
  }

  /// Renames a file, which stays beside its place. Returns its new path.
  @discardableResult
  func setAside(_ path: String) throws(CommandError) -> String {
    var number = 1
    while FileFacts("\(path).corrupt-\(number)") != nil { number += 1 }
    guard rename(path, "\(path).corrupt-\(number)") == 0 else { throw unwritable() }
    return "\(path).corrupt-\(number)"
  }

  func makeFolder(_ path: String) throws {
    try check()
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }
}

extension PlainFile {
  /// Returns the value in a file in JSON; `nil` if there is no file. Throws why it cannot be read, such as `it is damaged`.
  static func json<Value: Decodable>(
    at path: String, as type: Value.Type = Value.self, limit: Int = 8 << 20
  ) throws(DescribedError) -> Value? {
    switch read(path, limit: limit) {
    case .absent: return nil
    case .unreadable(let why): throw DescribedError(why)
    case .content(let bytes):
      do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch {
        throw DescribedError("it is damaged")
      }
    }
  }

  /// Returns the value in a file in JSON; `nil` if there is none, or it cannot be read.
  static func value<Value: Decodable>(at path: String, limit: Int = 8 << 20) -> Value? {
    try? json(at: path, limit: limit)
  }
}
#endif
