#if Programs
import ArgumentParser
import HandstampCore
import HandstampSecretService
import HandstampVaults

/// `handstamp store`.
struct Store: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "where the key is that opens this installation's vaults",
    discussion: """
      the vaults are sealed files; their key is a file beside them, which protects by its mode alone, or in the desktop's
      secret store (Secret Service: GNOME, KDE, KeePassXC), which protects it while nobody is logged in, or in a file that is
      sealed with a passphrase, which every command then asks for at the terminal, or reads from the file that
      HANDSTAMP_PASSPHRASE_FILE names
      """,
    subcommands: [Show.self, Migrate.self, Lock.self, Unlock.self], defaultSubcommand: Show.self)

  /// Where a key can be put.
  enum Place: String, ExpressibleByArgument, CaseIterable {
    case file
    case secretService = "secret-service"
    case passphrase
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "says where it is, and whether it can be had")
    @OptionGroup var output: OutputOptions
    @OptionGroup var manner: Manner

    struct Answer: Document {
      var schemaVersion = 1
      /// `file`, `secret-service`, `passphrase`, or what a newer version wrote.
      var store: String
      /// Under which name; none for a file.
      var name: String?
      /// `open`, `locked`, `unavailable`, or `none` before there is a key.
      var state: String
      var trouble: String?
      var folder: String
    }

    func run() async throws {
      let home = try Home.current()
      let store = try home.keyStore()
      var answer = Answer(store: store.name, state: "open", folder: home.vaultFolder)
      if case .secretService(let name) = store { answer.name = name }
      if case .passphrase = store {
        // Nobody is asked for it by a look.
        answer.state = "locked"
      } else if let keeper = store.keeper {
        do throws(VaultTrouble) {
          if try await keeper.load() == nil { answer.state = "none" }
        } catch {
          answer.state = error == .locked ? "locked" : "unavailable"
          if case .unavailable(let why) = error { answer.trouble = why }
        }
      } else if FileFacts(home.keyFile) == nil {
        answer.state = "none"
      }
      if output.json { return answer.print() }
      let place =
        switch store {
        case .file: home.keyFile
        case .secretService(let name): "the secret store, as \(name)"
        case .passphrase: "sealed with a passphrase"
        case .unknown(let note): note
        }
      Terminal.out(
        Table(rows: [
          ["key", place], ["state", [answer.state, answer.trouble].compactMap(\.self).joined(separator: ": ")],
        ])
        .lines.joined(separator: "\n"))
    }
  }

  struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "moves the key to another place; nobody is signed out by it",
      discussion:
        "a kill at any instant leaves a key that opens the vaults; the same command again finishes what was begun")
    @Option(help: "where to") var to: Place
    @OptionGroup var manner: Manner

    func run() async throws {
      let home = try Home.current()
      let store = try home.keyStore()
      let place = VaultKeyPlace(folder: home.vaultFolder)
      // Asked for before anything is moved.
      var new: Secret?
      if case .passphrase = to, store.name != KeyStore.passphrase(folder: "").name {
        new = try PassphrasePrompt.newOne()
      }
      do throws(VaultTrouble) {
        switch (to, store) {
        case (_, .unknown(let note)):
          throw .unavailable("the key is kept in a place that this version does not know: \(note)")
        case (.file, .file): Terminal.say("the key is in a file already")
        case (.file, _):
          try await toFile(from: store, place)
          Terminal.say("the key is in \(home.keyFile)")
        case (.secretService, .secretService(let name)):
          // What is left of a move that was killed goes.
          try await place.move(to: SecretServiceKey(name: name), noting: store.note ?? "")
          Terminal.say("the key is in the secret store already, as \(name)")
        case (.secretService, _):
          let target = KeyStore.newSecretService()
          guard case .secretService(let name) = target, let note = target.note else { return }
          // Before anything is moved: whether it is to be had.
          _ = try await SecretServiceKey(name: name).load()
          try await toFile(from: store, place)
          try await place.move(to: SecretServiceKey(name: name), noting: note)
          Terminal.say("the key is in the secret store, as \(name)")
        case (.passphrase, .passphrase(let folder)):
          _ = try await KeyStore.sealed(in: folder).load()
          try await place.move(to: KeyStore.sealed(in: folder), noting: store.note ?? "")
          Terminal.say("the key is sealed with a passphrase already")
        case (.passphrase, _):
          try await toFile(from: store, place)
          let target = KeyStore.sealed(in: home.vaultFolder, with: new)
          // Of a move that was killed, perhaps with another passphrase; the key file is still there.
          if FileFacts(home.keyFile) != nil { try await target.remove() }
          try await place.move(to: target, noting: KeyStore.passphrase(folder: home.vaultFolder).note ?? "")
          Terminal.say("the key is sealed with the passphrase: whoever forgets it has to sign in anew")
        }
      } catch {
        throw Refusal(store: error)
      }
    }

    private func toFile(from store: KeyStore, _ place: VaultKeyPlace) async throws(VaultTrouble) {
      guard let keeper = store.keeper else { return }
      // Whoever has to be asked is asked while nobody waits for a lock.
      _ = try await keeper.load()
      try await place.moveBack(from: keeper)
      // Not before the file is on the disk.
      switch store {
      case .secretService(let name): try await SecretServiceKey(name: name).remove()
      case .passphrase(let folder): try await KeyStore.sealed(in: folder).remove()
      case .file, .unknown: break
      }
    }
  }

  struct Lock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "locks the desktop's secret store, for every program that uses it")
    @OptionGroup var manner: Manner

    func run() async throws {
      let name = try Store.lockable(try Home.current())
      do throws(VaultTrouble) { try await SecretServiceKey(name: name).lock() } catch { throw Refusal(store: error) }
      Terminal.say("the secret store is locked, and with it the vaults")
    }
  }

  struct Unlock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "has the desktop ask for the password of its secret store, and waits at most a minute")
    @OptionGroup var manner: Manner

    func run() async throws {
      let name = try Store.lockable(try Home.current())
      do throws(VaultTrouble) { try await SecretServiceKey(name: name).unlock() } catch { throw Refusal(store: error) }
      Terminal.say("the secret store is open")
    }
  }

  private static func lockable(_ home: Home) throws(Refusal) -> String {
    let store = try home.keyStore()
    guard case .secretService(let name) = store else {
      if case .passphrase = store {
        throw Refusal(
          .failure, "the passphrase is asked for by every command, and kept by none: it is locked already",
          hint: "name a file in HANDSTAMP_PASSPHRASE_FILE for commands that nobody watches")
      }
      throw Refusal(
        .failure, "the key is in a file, which nothing locks", hint: "run: handstamp store migrate --to secret-service")
    }
    return name
  }
}

extension Refusal {
  /// What a key store's trouble means at a terminal.
  fileprivate init(store trouble: VaultTrouble) {
    switch trouble {
    case .locked:
      self.init(
        .vault, "the key's store is locked",
        hint: "run: handstamp store unlock, or give the passphrase at the terminal or in HANDSTAMP_PASSPHRASE_FILE")
    case .unavailable(let why) where why.hasPrefix("a passphrase"):
      self.init(.usage, why, hint: "nothing was moved; choose another and run the same command again")
    case .unavailable(let why):
      self.init(
        .vault, plain(why), hint: "nothing was moved; is a keyring running? see: handstamp store show")
    case .corrupt: self.init(trouble)
    }
  }
}
#endif
