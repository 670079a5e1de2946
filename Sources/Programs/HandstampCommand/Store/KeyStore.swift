#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampKeys
import HandstampSupport

/// Where the vault key of this installation is stored.
enum KeyStore: Sendable, Hashable {
  /// A file beside the vaults.
  case file
  /// The desktop's secret store, under this name.
  case secretService(String)
  /// The login keychain of macOS, under this name.
  case keychain(String)
  /// A file in this folder, sealed with a passphrase.
  case passphrase(folder: String)
  /// A place known only to another version.
  case unknown(String)

  private static let prefix = "secret-service "
  private static let keychainPrefix = "keychain "
  private static let sealed = "passphrase"

  /// Reads a place in the note beside the vaults in `folder`.
  init(note: String, folder: String) {
    switch note {
    case VaultKeyPlace.Note.file: self = .file
    case KeyStore.sealed: self = .passphrase(folder: folder)
    case _ where note.hasPrefix(KeyStore.prefix):
      self = .secretService(String(note.dropFirst(KeyStore.prefix.count)))
    case _ where note.hasPrefix(KeyStore.keychainPrefix):
      self = .keychain(String(note.dropFirst(KeyStore.keychainPrefix.count)))
    default: self = .unknown(note)
    }
  }

  /// Returns a name for a new entry in a store. Each installation has its own, so that they do not replace each other's key.
  static func newName() -> String { "handstamp-" + String(UInt64.random(in: 0 ... .max), radix: 16) }

  var note: String {
    switch self {
    case .file: VaultKeyPlace.Note.file
    case .secretService(let name): KeyStore.prefix + name
    case .keychain(let name): KeyStore.keychainPrefix + name
    case .passphrase: KeyStore.sealed
    case .unknown(let note): note
    }
  }

  /// The name in JSON output.
  var name: String {
    switch self {
    case .file: "file"
    case .secretService: "secret-service"
    case .keychain: "keychain"
    case .passphrase: "passphrase"
    case .unknown(let note): note
    }
  }

  /// The store that keeps the key; `nil` for a file.
  var keeper: (any VaultKeyCopy)? {
    switch self {
    case .file: nil
    case .secretService(let name):
      SecretServiceKey(name: name)
    case .keychain(let name): KeyStore.inKeychain(name)
    case .passphrase(let folder): KeyStore.sealed(in: folder)
    case .unknown(let note): NoKeyStore(why: "the key is kept in a place unknown to this version: \(note)")
    }
  }

  /// Returns the key in the keychain.
  ///
  /// - Parameter mayAsk: Whether macOS may ask the user for it, and the call may wait for that.
  static func inKeychain(_ name: String, mayAsk: Bool = false) -> any VaultKeyCopy {
    #if canImport(Security)
    KeychainVaultKey(LoginKeychain(mayAsk: mayAsk), name: name)
    #else
    NoKeyStore(why: "this system has no keychain")
    #endif
  }

  /// One key per folder, so that a command asks for its passphrase only once.
  private static let asking = Locked<[String: PassphraseKey]>([:])

  /// Returns the key sealed with a passphrase.
  static func sealed(in folder: String) -> PassphraseKey {
    asking.withLock { known in
      let key = known[folder] ?? sealed(in: folder, with: nil)
      known[folder] = key
      return key
    }
  }

  /// - Parameter new: The passphrase that seals a newly stored key.
  static func sealed(in folder: String, with new: Secret?) -> PassphraseKey {
    PassphraseKey(
      Passphrase(folder: folder) { await PassphrasePrompt.shared.answer($0) }, reason: "to open the vaults", new: new)
  }

  /// The key that opens the vaults.
  var key: VaultKey { keeper.map { .managed(by: ManagedVaultKey(in: $0, noted: note)) } ?? .fileInVaultFolder }
}

/// A store that is unavailable here.
private struct NoKeyStore: VaultKeyCopy {
  let why: String
  @concurrent func load() async throws(VaultError) -> Secret? { throw .unavailable(why) }
  @concurrent func store(_ key: Secret) async throws(VaultError) { throw .unavailable(why) }
  @concurrent func remove(_ permission: borrowing VaultKeyRemoval) async throws(VaultError) { throw .unavailable(why) }
}

/// The choice at the first sign-in. Later, only `handstamp key migrate` moves the key.
extension KeyStore {
  /// Whether the process belongs to a session at a desktop, whose secret store is then there for the next commands as well. A connection
  /// from elsewhere may use a desktop that its user is about to log out of.
  static func isAtDesktop(_ environment: [String: String]) -> Bool {
    func has(_ name: String) -> Bool { environment[name]?.isEmpty == false }
    guard !has("SSH_CONNECTION"), !has("SSH_TTY") else { return false }
    #if os(macOS)
    return true
    #else
    return has("DISPLAY") || has("WAYLAND_DISPLAY")
    #endif
  }

  /// The place for people.
  var place: String {
    switch self {
    case .file: "in a file"
    case .secretService: "in the desktop's secret store"
    case .keychain: "in the login keychain"
    case .passphrase: "in a file sealed with a passphrase"
    case .unknown(let note): "in a place unknown to this version: \(note)"
    }
  }

  /// The words of the first sign-in: where the key is, and how to move it.
  var advice: [String] {
    switch self {
    case .file: ["the vault key is \(place) that only you can read; for other places, see: handstamp key --help"]
    case .secretService, .keychain:
      [
        "the vault key is \(place), so commands outside of your desktop session, as those of cron, cannot use it",
        "if they should, run: handstamp key migrate --to file",
      ]
    case .passphrase, .unknown: []
    }
  }

  /// Puts the key of a new home where it is protected best without ever asking or waiting for the user: into the desktop's store, if it
  /// is unlocked and returns what it is given. Leaves a home with a key or with vaults as it is.
  static func choose(
    for home: Home, _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) async {
    guard isAtDesktop(environment) else { return }
    let name = newName()
    #if canImport(Security)
    let store = KeyStore.keychain(name)
    guard let keeper = store.keeper else { return }
    #else
    let (store, keeper) = (KeyStore.secretService(name), SecretServiceKey(name: name, deadline: .seconds(1)))
    // Storing an item in a locked collection would ask for its password.
    guard (try? await keeper.isLocked()) == false else { return }
    #endif
    // Otherwise the key will be in the file, which is made with the first vault. Another process may have chosen in the meantime.
    _ = try? await home.keyPlace.move(to: store.note, in: keeper, onlyNew: true)
  }
}

extension Home {
  /// Whether no key has been made yet, as far as can be seen.
  var hasNoKey: Bool {
    guard FileFacts(keyFile) == nil, case .file? = try? keyStore() else { return false }
    return true
  }
}

/// Obtains the passphrase of the vaults from the file named in the environment, else from the terminal; never from arguments or
/// from a variable's value.
actor PassphrasePrompt {
  static let shared = PassphrasePrompt()
  private static let variable = "HANDSTAMP_PASSPHRASE_FILE"

  /// Set once the user declines, so that the same command does not ask again.
  private var isDeclined = false

  /// Turns off prompting, for a calling program that said there is no user. A passphrase file is still read.
  func stopAsking() { mayAsk = false }

  private var mayAsk = true

  /// Returns the passphrase, or `nil` if it is not given.
  func answer(_ question: Passphrase.Question) -> Secret? {
    guard !isDeclined else { return nil }
    do throws(CommandError) {
      if let path = PassphrasePrompt.path {
        if question.failure != nil {
          Terminal.say("handstamp: wrong passphrase in \(path)")
          isDeclined = true
          return nil
        }
        return try PassphrasePrompt.firstLine(of: path)
      }
      if question.failure != nil { Terminal.say("wrong passphrase") }
      guard mayAsk, let typed = try Terminal.secretAtTerminal("vault passphrase") else {
        isDeclined = true
        return nil
      }
      return typed
    } catch {
      Terminal.say("handstamp: \(error.message)")
      isDeclined = true
      return nil
    }
  }

  /// Reads a new passphrase.
  static func newOne() throws(CommandError) -> Secret {
    if let path { return try firstLine(of: path) }
    return try Terminal.secret("new passphrase", twice: true)
  }

  private static var path: String? { ProcessEnvironment[variable] }

  private static func firstLine(of path: String) throws(CommandError) -> Secret {
    try SecretFile.firstLine(of: path, for: variable, code: .vault)
  }
}
#endif
