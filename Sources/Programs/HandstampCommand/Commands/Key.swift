#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine
import HandstampKeys

struct Key: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "show or move the vault encryption key",
    discussion: """
      the vaults are encrypted files; their key is kept in one of four places:

        file            beside the vaults, protected only by its file mode
        secret-service  in the desktop's secret store (GNOME, KDE, KeePassXC),
                        which protects it while you are logged out
        keychain        in the login keychain of macOS, likewise
        passphrase      in a file sealed with a passphrase, which every command
                        reads from the terminal or from the file named by
                        HANDSTAMP_PASSPHRASE_FILE

      the first sign-in chooses the desktop's place if that is unlocked and this
      is a session at the desktop, and the file otherwise; migrate moves the key,
      and chooses its place if it is run before the first sign-in
      """,
    subcommands: [Show.self, Migrate.self, Lock.self, Unlock.self], defaultSubcommand: Show.self)

  /// A place for the key.
  enum Place: String, ExpressibleByArgument, CaseIterable {
    case file
    case secretService = "secret-service"
    case keychain
    case passphrase
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "show where the key is stored and whether it is available")
    @OptionGroup var output: OutputOptions
    @OptionGroup var quietOption: QuietOption

    func run() async throws {
      let home = try Home.current()
      let store = try home.keyStore()
      // `open`, `locked`, `unavailable`, or `none` if there is no key yet.
      var (state, trouble) = ("open", String?.none)
      if case .passphrase = store {
        // Showing the state must not prompt for the passphrase.
        state = "locked"
      } else if let keeper = store.keeper {
        do throws(VaultError) {
          if try await keeper.load() == nil { state = "none" }
        } catch {
          (state, trouble) = (error == .locked ? "locked" : "unavailable", error.detail)
        }
      } else if FileFacts(home.keyFile) == nil {
        state = "none"
      }
      if output.json {
        return Terminal.out(json: [
          "store": store.name, "name": store.entry?.name, "state": state, "trouble": trouble,
          "folder": home.vaultFolder,
        ])
      }
      let place =
        switch store {
        case .file: home.keyFile
        case .secretService, .keychain: store.entryWords
        case .passphrase: "sealed with a passphrase"
        case .unknown(let note): note
        }
      Table(rows: [["key", place], ["state", [state, trouble].compactMap(\.self).joined(separator: ": ")]]).write()
    }
  }

  struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "migrate", abstract: "move the key to another place without signing out",
      discussion: """
        an interrupted move leaves the vaults usable; run the same command again to
        finish it
        """)
    @Option(help: "new place of the key") var to: Place
    @OptionGroup var quietOption: QuietOption

    func run() async throws {
      let home = try Home.current()
      let store = try home.keyStore()
      let (target, words) = target(for: store, in: home)
      var sealed: PassphraseKey?
      if case .passphrase(let folder) = target, target != store {
        // Ask before moving anything.
        sealed = KeyStore.sealed(in: folder, with: try PassphrasePrompt.newOne())
      }
      let remaining: VaultError?
      do throws(VaultError) {
        // Before the first sign-in, which would choose a place otherwise.
        if target == .file, store == .file, try await home.keyPlace.makeFile() {
          return Terminal.say("the key is in a file")
        }
        remaining = try await home.keyPlace.move(to: target.note, in: sealed)
      } catch {
        throw CommandError(store: error)
      }
      Terminal.say(words)
      guard let remaining else { return }
      throw CommandError(
        .vault,
        "a copy of the key remains in its earlier place: \(remaining.detail.map { plain($0) } ?? "it is locked")",
        hint: "make that place available, then run the same command again", code: remaining.code)
    }

    /// Returns the new place, which is the present one if that is of the same kind, and the words for it.
    private func target(for store: KeyStore, in home: Home) -> (KeyStore, String) {
      let name = KeyStore.newName()
      return switch (to, store) {
      case (.file, .file): (.file, "the key is already in a file")
      case (.file, _): (.file, "the key is in \(home.keyFile)")
      case (.secretService, .secretService), (.keychain, .keychain):
        (store, "the key is already in \(store.entryWords)")
      case (.secretService, _): (.secretService(name), "the key is in \(KeyStore.secretService(name).entryWords)")
      case (.keychain, _): (.keychain(name), "the key is in \(KeyStore.keychain(name).entryWords)")
      case (.passphrase, .passphrase): (store, "the key is already sealed with a passphrase")
      case (.passphrase, _):
        (
          .passphrase(folder: home.vaultFolder),
          "the key is sealed with the passphrase; if you forget it, you have to sign in again"
        )
      }
    }
  }

  struct Lock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "lock", abstract: "lock the desktop's secret store for every program that uses it")
    @OptionGroup var quietOption: QuietOption

    func run() async throws {
      let store = try Key.lockable(try Home.current())
      guard case .secretService(let name) = store else {
        throw CommandError(
          .failure, "handstamp does not lock the keychain", hint: "run: security lock-keychain")
      }
      do throws(VaultError) { try await SecretServiceKey(name: name).lock() } catch { throw CommandError(store: error) }
      Terminal.say("the secret store and the vaults are locked")
    }
  }

  struct Unlock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "unlock",
      abstract: "unlock the desktop's secret store or keychain; waits for its password dialog, up to a minute on Linux"
    )
    @OptionGroup var quietOption: QuietOption

    func run() async throws {
      let store = try Key.lockable(try Home.current())
      do throws(VaultError) {
        if case .keychain(let name) = store {
          _ = try await KeyStore.inKeychain(name, mayAsk: true).load()
        } else if case .secretService(let name) = store {
          try await SecretServiceKey(name: name).unlock()
        }
      } catch {
        throw CommandError(store: error)
      }
      Terminal.say("\(store.entry?.store ?? "the key") is unlocked")
    }
  }

  /// The place of the key, if it is one that can be locked.
  private static func lockable(_ home: Home) throws(CommandError) -> KeyStore {
    let store = try home.keyStore()
    switch store {
    case .secretService, .keychain: return store
    case .passphrase:
      throw CommandError(
        .failure, "the key is sealed with a passphrase, which is never kept: it is always locked",
        hint: "set HANDSTAMP_PASSPHRASE_FILE to a file with the passphrase, for unattended commands")
    case .file, .unknown:
      throw CommandError(
        .failure, "the key is in a file, which cannot be locked",
        hint: "run: handstamp key migrate --to secret-service")
    }
  }
}

extension KeyStore {
  /// The store of the system that has the key, and the name of the key there; `nil` for a file.
  fileprivate var entry: (store: String, name: String)? {
    switch self {
    case .secretService(let name): ("the secret store", name)
    case .keychain(let name): ("the keychain", name)
    case .file, .passphrase, .unknown: nil
    }
  }

  fileprivate var entryWords: String { entry.map { "\($0.store), as \($0.name)" } ?? "" }
}

extension CommandError {
  /// Describes a key store's error for the terminal.
  fileprivate init(store trouble: VaultError) {
    switch trouble {
    case .locked:
      self.init(
        .vault, "the key is locked",
        hint: "run handstamp key unlock, enter the passphrase at the terminal, or set HANDSTAMP_PASSPHRASE_FILE")
    case .passphrase(let text):
      self.init(
        .usage, text, hint: "choose another and run the same command again; nothing was moved", code: trouble.code)
    case .unavailable(let text):
      self.init(
        .vault, plain(text), hint: "check that a keyring is running, then see: handstamp key show; nothing was moved")
    case .corrupt, .full, .permissions, .newerFormat, .wrongKey, .otherServer: self.init(trouble)
    }
  }
}
#endif
