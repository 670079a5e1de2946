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
  private var settingsPath: String { path + "/settings.json" }
  private var devicePath: String { path + "/device" }

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
    guard let data = FileManager.default.contents(atPath: settingsPath) else {
      guard !FileManager.default.fileExists(atPath: settingsPath) else { throw unreadable(settingsPath) }
      return Settings()
    }
    do { return try JSONDecoder().decode(Settings.self, from: data) } catch { throw unreadable(settingsPath) }
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
    guard let data = FileManager.default.contents(atPath: devicePath) else { return nil }
    let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard (1...100).contains(text.utf8.count) else { throw unreadable(devicePath) }
    return DeviceID(text)
  }

  private func make() throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  private func unreadable(_ path: String) -> Refusal {
    Refusal(.failure, "\(path) cannot be read", hint: "put it right, or take it away: the vault does not depend on it")
  }

  func unwritable() -> Refusal {
    Refusal(
      .failure, "\(path) cannot be written", hint: "see to its owner, its mode and its disk, or set HANDSTAMP_HOME")
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
}
#endif
