#if Programs
import HandstampCore
import HandstampSecretService
import HandstampVaults

/// Where the key of this installation's vaults is.
enum KeyStore: Sendable, Hashable {
  /// A file beside the vaults.
  case file
  /// The desktop's secret store, under this name.
  case secretService(String)
  /// A file in that folder that is sealed with a passphrase.
  case passphrase(folder: String)
  /// Something that another version knows.
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

  /// A place in the secret store for one installation: several of them must not take each other's key.
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

  /// For programs.
  var name: String {
    switch self {
    case .file: "file"
    case .secretService: "secret-service"
    case .passphrase: "passphrase"
    case .unknown(let note): note
    }
  }

  /// What keeps the key; nothing where a file does.
  var keeper: (any VaultKeyStore)? {
    switch self {
    case .file: nil
    case .secretService(let name):
      SecretServiceKey(name: name)
    case .passphrase(let folder): KeyStore.sealed(in: folder)
    case .unknown(let note): NoKeyStore(why: "the key is kept in a place that this version does not know: \(note)")
    }
  }

  /// One for each folder, so that nobody is asked twice by one command.
  private static let asking = Locked<[String: PassphraseKey]>([:])

  /// The key that a passphrase seals.
  static func sealed(in folder: String) -> PassphraseKey {
    asking.withLock { known in
      let key = known[folder] ?? sealed(in: folder, with: nil)
      known[folder] = key
      return key
    }
  }

  /// - Parameter new: seals the key when it is put there.
  static func sealed(in folder: String, with new: Secret?) -> PassphraseKey {
    PassphraseKey(
      Passphrase(folder: folder) { await PassphrasePrompt.shared.answer($0) }, reason: "to open the vaults", new: new)
  }

  /// What opens the vaults.
  var key: VaultKey { keeper.map { .kept(KeptKey(in: $0)) } ?? .fileBeside }
}

/// A store that is not to be had here.
private struct NoKeyStore: VaultKeyStore {
  let why: String
  @concurrent func load() async throws(VaultTrouble) -> Secret? { throw .unavailable(why) }
  @concurrent func store(_ key: Secret) async throws(VaultTrouble) { throw .unavailable(why) }
}
#endif
