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

  /// `HANDSTAMP_HOME`, else the state folder of the XDG base directory specification.
  ///
  /// Also reads where the key is kept, so that a process asks for it only once.
  static func current(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws(Refusal) -> Home {
    let home = try found(environment)
    // Its files would lock out the user whose home it is.
    if geteuid() == 0, let owner = FileOwner.ofFolder(home.path), owner.user != 0 {
      throw Refusal(
        .usage, "root in the folder of another user: \(home.path)",
        hint: "run it as that user: sudo -u \(owner.name) handstamp, or set HANDSTAMP_HOME to a folder of root's")
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

  private static func found(_ environment: [String: String]) throws(Refusal) -> Home {
    if let path = environment["HANDSTAMP_HOME"], !path.isEmpty {
      return Home(path: path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path)
    }
    // The specification requires ignoring relative paths.
    if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return Home(path: state + "/handstamp") }
    guard let user = environment["HOME"], user.hasPrefix("/") else {
      throw Refusal(.failure, "no folder for the vault", hint: "set HOME, or HANDSTAMP_HOME to a folder of your own")
    }
    return Home(path: user + "/.local/state/handstamp")
  }

  var vaultFolder: String { path + "/vault" }
  var settingsPath: String { path + "/settings.json" }
  var devicePath: String { path + "/device" }

  /// Returns the vault of one account at one server, so that no part of a session is ever sent to another server.
  func vault(of account: AccountID) -> SealedFileVault {
    SealedFileVault(folder: vaultFolder, account: account, key: key)
  }

  /// Returns where the vault key is kept.
  func keyStore() throws(Refusal) -> KeyStore {
    do throws(VaultError) {
      return KeyStore(note: try VaultKeyPlace(folder: vaultFolder).note(), folder: vaultFolder)
    } catch {
      throw Refusal(error)
    }
  }

  var keyFile: String { vaultFolder + "/vault.key" }

  /// The list of accounts, stored beside their vaults.
  var index: FileAccountsIndex { FileAccountsIndex(folder: vaultFolder) }

  /// Returns the stored settings, which are empty before the first sign-in.
  func settings() throws(Refusal) -> Settings {
    switch storedSettings {
    case .success(let settings): return settings
    case .failure(let why): throw unreadable(settingsPath, why.words)
    }
  }

  /// Why the settings cannot be read; `nil` if they can, or do not exist yet.
  var settingsDamage: String? {
    if case .failure(let why) = storedSettings { why.words } else { nil }
  }

  private struct Unreadable: Error { var words: String }

  private var storedSettings: Result<Settings, Unreadable> {
    switch PlainFile.read(settingsPath) {
    case .absent: return .success(Settings())
    case .unreadable(let why): return .failure(Unreadable(words: why))
    case .content(let bytes):
      let settings = try? JSONDecoder().decode(Settings.self, from: Data(bytes))
      return settings.map { .success($0) }
        ?? .failure(Unreadable(words: bytes.isEmpty ? "it is empty" : "it is damaged"))
    }
  }

  func save(_ settings: Settings) throws(Refusal) {
    do {
      try make()
      try AtomicFile.replace(settingsPath, with: settings.jsonBytes(isPretty: true))
    } catch {
      throw unwritable()
    }
  }

  /// Returns the device ID of this installation, created on first use. Two processes that create it at the same time agree.
  func device() throws(Refusal) -> DeviceID {
    if let known = try knownDevice() { return known }
    do {
      try make()
      _ = try AtomicFile.create(devicePath, with: Array(UUID().uuidString.lowercased().utf8))
    } catch {
      throw unwritable()
    }
    guard let drawn = try knownDevice() else { throw unwritable() }
    return drawn
  }

  private func knownDevice() throws(Refusal) -> DeviceID? {
    switch storedDevice {
    case .success(let device): return device
    case .failure(let why): throw unreadable(devicePath, why.words)
    }
  }

  /// Why the device ID cannot be read; `nil` if it can, or does not exist yet.
  var deviceDamage: String? {
    if case .failure(let why) = storedDevice { why.words } else { nil }
  }

  private var storedDevice: Result<DeviceID?, Unreadable> {
    switch PlainFile.read(devicePath, limit: 1000) {
    case .absent: return .success(nil)
    case .unreadable(let why): return .failure(Unreadable(words: why))
    case .content(let bytes):
      guard let whole = String(utf8Bytes: bytes) else { return .failure(Unreadable(words: "it is damaged")) }
      let text = whole.trimmingCharacters(in: .whitespacesAndNewlines)
      guard !text.isEmpty else { return .failure(Unreadable(words: "it is empty")) }
      let isWord =
        text.utf8.count <= 100 && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      return isWord ? .success(DeviceID(text)) : .failure(Unreadable(words: "it is damaged"))
    }
  }

  private func make() throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  private func unreadable(_ path: String, _ why: String) -> Refusal {
    Refusal(.failure, "cannot read \(path): \(why)", hint: "run: handstamp doctor --fix", concernsHome: true)
  }

  func unwritable() -> Refusal {
    Refusal(
      .failure, "cannot write to \(path)", hint: "check its owner, mode and disk, or set HANDSTAMP_HOME",
      concernsHome: true)
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
