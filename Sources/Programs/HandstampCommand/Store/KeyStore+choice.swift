#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampKeys

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
#endif
