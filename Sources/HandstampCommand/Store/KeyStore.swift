#if Command
import HandstampCore
import HandstampKeys
import HandstampSupport
import HandstampVaults

/// Where the vault key of this installation is stored.
enum KeyStore: Sendable, Hashable {
  /// A file beside the vaults.
  case file
  /// The desktop's secret store, under this name.
  case secretService(String)
  /// A file in this folder, sealed with a passphrase.
  case passphrase(folder: String)
  /// A place known only to another version.
  case unknown(String)

  private static let prefix = "secret-service "
  private static let sealed = "passphrase"

  /// Reads the note beside the vaults in `folder`.
  init(note: String?, folder: String) {
    switch note {
    case nil: self = .file
    case KeyStore.sealed: self = .passphrase(folder: folder)
    case let note? where note.hasPrefix(KeyStore.prefix):
      self = .secretService(String(note.dropFirst(KeyStore.prefix.count)))
    case let note?: self = .unknown(note)
    }
  }

  /// Returns a new entry in the secret store. Each installation has its own, so that they do not replace each other's key.
  static func newSecretService() -> KeyStore {
    .secretService("handstamp-" + String(UInt64.random(in: 0 ... .max), radix: 16))
  }

  var note: String? {
    switch self {
    case .file: nil
    case .secretService(let name): KeyStore.prefix + name
    case .passphrase: KeyStore.sealed
    case .unknown(let note): note
    }
  }

  /// The name in JSON output.
  var name: String {
    switch self {
    case .file: "file"
    case .secretService: "secret-service"
    case .passphrase: "passphrase"
    case .unknown(let note): note
    }
  }

  /// The store that keeps the key; `nil` for a file.
  var keeper: (any VaultKeyStore)? {
    switch self {
    case .file: nil
    case .secretService(let name):
      SecretServiceKey(name: name)
    case .passphrase(let folder): KeyStore.sealed(in: folder)
    case .unknown(let note): NoKeyStore(why: "the key is kept in a place unknown to this version: \(note)")
    }
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
  var key: VaultKey { keeper.map { .managed(by: KeptKey(in: $0)) } ?? .fileInVaultFolder }
}

/// A store that is unavailable here.
private struct NoKeyStore: VaultKeyStore {
  let why: String
  @concurrent func load() async throws(VaultError) -> Secret? { throw .unavailable(why) }
  @concurrent func store(_ key: Secret) async throws(VaultError) { throw .unavailable(why) }
}
#endif
