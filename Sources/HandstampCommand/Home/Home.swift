#if Command
import Foundation
import HandstampCore
import HandstampSupport
import HandstampVaults

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
    let home = Home(path: try place(in: ProcessInfo.processInfo.environment))
    // Its files would lock out the user whose home it is.
    if geteuid() == 0, let folder = FileFacts.ofFolder(home.path), folder.owner != 0 {
      throw CommandError(
        .usage, "root in the folder of another user: \(home.path)",
        hint: "run it as that user: sudo -u \(folder.ownerName) handstamp, or set HANDSTAMP_HOME to a folder of root's")
    }
    return home.withNotedKey
  }

  /// The same folder, with the key that its note names now.
  var withNotedKey: Home {
    var home = self
    // If the folder cannot be read, reading the vault reports the error.
    if let store = try? keyStore() { home.key = store.key }
    return home
  }

  private static func place(in environment: [String: String]) throws(CommandError) -> String {
    if let path = environment["HANDSTAMP_HOME"], !path.isEmpty {
      return path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
    // The specification requires ignoring relative paths.
    if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/handstamp" }
    guard let user = environment["HOME"], user.hasPrefix("/") else {
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

  /// Returns where the vault key is kept.
  func keyStore() throws(CommandError) -> KeyStore {
    do throws(VaultError) {
      return KeyStore(note: try VaultKeyPlace(folder: vaultFolder).note(), folder: vaultFolder)
    } catch {
      throw CommandError(error)
    }
  }

  var keyFile: String { vaultFolder + "/vault.key" }

  /// The list of accounts, stored beside their vaults.
  var index: FileAccountsIndex { FileAccountsIndex(folder: vaultFolder) }

  /// Returns the stored settings, which are empty before the first sign-in.
  func settings() throws(CommandError) -> Settings {
    switch storedSettings {
    case .content(let settings): return settings
    case .unreadable(let why): throw unreadable(settingsPath, why)
    }
  }

  /// Why the settings cannot be read; `nil` if they can, or do not exist yet.
  var settingsDamage: String? {
    if case .unreadable(let why) = storedSettings { why } else { nil }
  }

  /// A file of the home, as far as it can be read.
  private enum Stored<Value> {
    case content(Value)
    case unreadable(String)
  }

  private var storedSettings: Stored<Settings> {
    switch PlainFile.read(settingsPath) {
    case .absent: return .content(Settings())
    case .unreadable(let why): return .unreadable(why)
    case .content(let bytes):
      let settings = try? JSONDecoder().decode(Settings.self, from: Data(bytes))
      return settings.map { .content($0) }
        ?? .unreadable(bytes.isEmpty ? "it is empty" : "it is damaged")
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

  private func knownDevice() throws(CommandError) -> DeviceID? {
    switch storedDevice {
    case .content(let device): return device
    case .unreadable(let why): throw unreadable(devicePath, why)
    }
  }

  /// Why the device ID cannot be read; `nil` if it can, or does not exist yet.
  var deviceDamage: String? {
    if case .unreadable(let why) = storedDevice { why } else { nil }
  }

  private var storedDevice: Stored<DeviceID?> {
    switch PlainFile.read(devicePath, limit: 1000) {
    case .absent: return .content(nil)
    case .unreadable(let why): return .unreadable(why)
    case .content(let bytes):
      guard let whole = String(utf8Bytes: bytes) else { return .unreadable("it is damaged") }
      let text = whole.trimmingCharacters(in: .whitespacesAndNewlines)
      guard !text.isEmpty else { return .unreadable("it is empty") }
      let isWord =
        text.utf8.count <= 100 && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      return isWord ? .content(DeviceID(text)) : .unreadable("it is damaged")
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
#endif
