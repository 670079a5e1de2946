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
      secret store (Secret Service: GNOME, KDE, KeePassXC), which protects it while nobody is logged in
      """,
    subcommands: [Show.self, Migrate.self, Lock.self, Unlock.self], defaultSubcommand: Show.self)

  /// Where a key can be put.
  enum Place: String, ExpressibleByArgument, CaseIterable {
    case file
    case secretService = "secret-service"
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "says where it is, and whether it can be had")
    @OptionGroup var output: OutputOptions
    @OptionGroup var manner: Manner

    struct Answer: Document {
      var schemaVersion = 1
      /// `file`, `secret-service`, or what a newer version wrote.
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
      if let keeper = store.keeper {
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
      do throws(VaultTrouble) {
        switch (to, store) {
        case (_, .unknown(let note)):
          throw .unavailable("the key is kept in a place that this version does not know: \(note)")
        case (.file, .file): Terminal.say("the key is in a file already")
        case (.file, .secretService(let name)):
          try await place.moveBack(from: SecretServiceKey(name: name))
          // Not before the file is on the disk.
          try await SecretServiceKey(name: name).remove()
          Terminal.say("the key is in \(home.keyFile)")
        case (.secretService, .file):
          let new = KeyStore.newSecretService()
          guard case .secretService(let name) = new, let note = new.note else { return }
          try await place.move(to: SecretServiceKey(name: name), noting: note)
          Terminal.say("the key is in the secret store, as \(name)")
        case (.secretService, .secretService(let name)):
          // What is left of a move that was killed goes.
          try await place.move(to: SecretServiceKey(name: name), noting: store.note ?? "")
          Terminal.say("the key is in the secret store already, as \(name)")
        }
      } catch {
        throw Refusal(store: error)
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
    guard case .secretService(let name) = try home.keyStore() else {
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
      self.init(.vault, "the secret store is locked", hint: "log in to the desktop, or run: handstamp store unlock")
    case .unavailable(let why):
      self.init(
        .vault, plain(why), hint: "nothing was moved; is a keyring running? see: handstamp store show")
    case .corrupt: self.init(trouble)
    }
  }
}
