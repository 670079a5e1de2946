#if Programs
import Foundation
import HandstampCore
import HandstampVaults

/// The folder of one installation: vault, locks, settings and the name of this device, which belong together.
struct Home: Sendable, Hashable {
  /// Absolute.
  var path: String
  /// What opens the vaults.
  var key = VaultKey.fileBeside

  init(path: String) { self.path = path }

  /// `HANDSTAMP_HOME`, else the state folder of the XDG base directory specification.
  ///
  /// Where the key is kept is read here, so that one process asks for it once.
  static func current(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws(Refusal) -> Home {
    var home = try found(environment)
    // A folder that cannot be read has more to say when the vault is.
    if let store = try? home.keyStore() { home.key = store.key }
    return home
  }

  private static func found(_ environment: [String: String]) throws(Refusal) -> Home {
    if let path = environment["HANDSTAMP_HOME"], !path.isEmpty {
      return Home(path: path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path)
    }
    // The specification says that relative paths must be ignored.
    if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return Home(path: state + "/handstamp") }
    guard let user = environment["HOME"], user.hasPrefix("/") else {
      throw Refusal(.failure, "there is no place for the vault", hint: "set HANDSTAMP_HOME to a folder of your own")
    }
    return Home(path: user + "/.local/state/handstamp")
  }

  var vaultFolder: String { path + "/vault" }
  var settingsPath: String { path + "/settings.json" }
  var devicePath: String { path + "/device" }

  /// The vault of one account at one server, so that what is left of a session is never told to another server.
  func vault(of account: AccountID) -> SealedFileVault {
    SealedFileVault(folder: vaultFolder, account: account, key: key)
  }

  /// Where the key of the vaults is.
  func keyStore() throws(Refusal) -> KeyStore {
    do throws(VaultTrouble) {
      return KeyStore(note: try VaultKeyPlace(folder: vaultFolder).note(), folder: vaultFolder)
    } catch {
      throw Refusal(error)
    }
  }

  var keyFile: String { vaultFolder + "/vault.key" }

  /// The list of accounts, beside their vaults.
  var index: FileAccountsIndex { FileAccountsIndex(folder: vaultFolder) }

  /// What was remembered at sign-in; nothing before the first.
  func settings() throws(Refusal) -> Settings {
    switch storedSettings {
    case .success(let settings): return settings
    case .failure(let why): throw unreadable(settingsPath, why.words)
    }
  }

  /// Why the settings cannot be read; `nil`: they can, or nothing was saved so far.
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
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try make()
      try encoder.encode(settings).write(to: URL(fileURLWithPath: settingsPath), options: .atomic)
    } catch {
      throw unwritable()
    }
  }

  /// The name of this installation, drawn once. Two processes that draw at the same time keep the same one.
  func device() throws(Refusal) -> DeviceID {
    if let known = try knownDevice() { return known }
    let draft = "\(devicePath).\(UInt64.random(in: 0 ... .max))"
    do {
      try make()
      try Data(UUID().uuidString.lowercased().utf8).write(to: URL(fileURLWithPath: draft))
    } catch {
      throw unwritable()
    }
    defer { unlink(draft) }
    // A link shows the file whole or not at all, and replaces none.
    guard link(draft, devicePath) == 0 || errno == EEXIST, let drawn = try knownDevice() else { throw unwritable() }
    return drawn
  }

  private func knownDevice() throws(Refusal) -> DeviceID? {
    switch storedDevice {
    case .success(let device): return device
    case .failure(let why): throw unreadable(devicePath, why.words)
    }
  }

  /// Why the name of this installation cannot be read; `nil`: it can, or was not drawn so far.
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
    Refusal(.failure, "\(path) cannot be read: \(why)", hint: "run: handstamp doctor --fix", concernsHome: true)
  }

  func unwritable() -> Refusal {
    Refusal(
      .failure, "\(path) cannot be written", hint: "see to its owner, its mode and its disk, or set HANDSTAMP_HOME",
      concernsHome: true)
  }
}

/// What is remembered and no secret.
struct Settings: Codable, Hashable, Sendable {
  /// Where one signed in last.
  var server: ServerAddress?
  /// Where one was before there was a list of accounts.
  var formerServers: [ServerAddress]?
  /// Whether the list of accounts names all that there are. An installation that is older has one per server.
  var hasList: Bool?
  /// Every server that was signed in to: where the list of accounts is lost, vaults are found again by it.
  var servers: [ServerAddress]?
}
#endif
