#if Command
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite

struct AdminKeys: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys", abstract: "list, rotate and retire the server's keys",
    discussion: """
      signing keys sign access tokens, and their public halves are published;
      refresh keys authenticate refresh tokens

      a server that runs does not notice these changes: after each, reload it
      (kill -HUP) for signing keys, and restart it for refresh keys
      """,
    subcommands: [List.self, Rotate.self, Retire.self], defaultSubcommand: List.self)

  enum Kind: String, ExpressibleByArgument, CaseIterable { case signing, refresh }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "list all keys, without the keys themselves")

    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    private struct Item {
      var kind: Kind
      var id: String
      /// `signing`, `next` or `former`; for refresh keys `current` or `accepted`.
      var state: String
      /// Of a signing key.
      var algorithm: String?
      var refresh: RefreshKeyRing.Facts?
    }

    func run() async throws {
      let folder = try options.folder()
      let signing = try SigningKeyRing.locked(in: folder.path) { ring in
        ring.keys.ids.map { id in
          Item(
            kind: .signing, id: id, state: ring.state(of: id).rawValue, algorithm: ring.keys.algorithm(of: id)?.rawValue
          )
        }
      }
      folder.giveFilesToOwner()
      let refresh = try await folder.open { store, _ throws(CommandError) in try await RefreshKeyRing(store).facts() }
      let accepted = refresh.map {
        Item(kind: .refresh, id: $0.id.rawValue, state: $0.isCurrent ? "current" : "accepted", refresh: $0)
      }
      output.write(
        "keys", signing + accepted,
        [
          Column("kind", as: "KIND", \.kind.rawValue),
          Column("id", as: "ID", \.id),
          Column("state", as: "STATE", \.state),
          Column("algorithm", as: "ALGORITHM", \.algorithm),
          Column("refreshTokens", as: "REFRESH TOKENS (MAX)", \.refresh?.refreshTokens),
          Column("revocationHandles", as: "REVOCATION HANDLES (MAX)", \.refresh?.revocationHandles),
          Column("lastUsedAt", \.refresh?.lastUse?.description),
        ])
    }
  }

  struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rotate", abstract: "replace the key that new tokens are made with; no session ends",
      discussion: """
        signing: the first run adds keys that are only published; run it again after
        ten minutes, when every verifier knows them, and they sign

        refresh: adds a key and makes it the current one; several servers on one
        folder have to restart one after another, and meanwhile answer 503 to some
        refreshes, which clients repeat

        the former keys stay accepted until they are retired
        """)

    @Argument(help: "signing or refresh") var kind: Kind
    @Flag(help: "sign with new keys at once, although verifiers may not know them") var atOnce = false
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let folder = try options.folder()
      let (ids, state) =
        switch kind {
        case .signing: try await rotateSigning(in: folder)
        case .refresh: try await rotateRefresh(in: folder)
        }
      if output.json { return Terminal.out(json: ["ids": ids, "state": state?.rawValue ?? "current"]) }
      for id in ids { Terminal.out(id) }
      switch state {
      case .next:
        Terminal.say("published from the next reload; reload the server: kill -HUP")
        Terminal.say("run the same command again in \(SigningKeyRing.overlap.words), to sign with it")
      case .signing: Terminal.say("signs from the next reload; reload the server: kill -HUP")
      case .former, nil: Terminal.say("current from the next start; restart the server")
      }
    }

    private func rotateSigning(
      in folder: AdminFolder
    ) async throws(CommandError) -> (ids: [String], state: SigningKeyRing.State?) {
      try await folder.open { store, _ throws(CommandError) in
        let (ids, state) = try SigningKeyRing.locked(in: folder.path) { ring throws(CommandError) in
          try ring.rotate(at: .current, atOnce: atOnce)
        }
        try await store.audit(state == .next ? .keyAdded : .keyUsed, key: ids)
        return (ids, state)
      }
    }

    /// A refresh key has no state: it is the current one.
    private func rotateRefresh(
      in folder: AdminFolder
    ) async throws(CommandError) -> (ids: [String], state: SigningKeyRing.State?) {
      guard folder.keys == nil else { throw folder.keysElsewhere }
      return try await folder.open { store, _ throws(CommandError) in
        let id: KeyID
        let known: [KeyID]
        do throws(RegistryStoreError) { known = try await store.store.keysEverUsed() } catch {
          throw CommandError(error)
        }
        do throws(RegistryOpenError) { id = try folder.files.rotateKey(besides: known) } catch {
          throw CommandError(error)
        }
        try await store.audit(.keyUsed, key: [id.rawValue])
        return ([id.rawValue], nil)
      }
    }
  }

  struct Retire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "retire", abstract: "remove a key, so that nothing made with it is accepted",
      discussion: """
        refused while tokens in use need the key; with --force, clients that present
        such a token of a refresh key are signed out, and the key is never accepted
        again: for one that has leaked
        """)

    @Argument(help: "ID of the key") var id: String
    @Flag(help: "retire it although it is needed") var force = false
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let folder = try options.folder()
      let isRefreshKey = try await folder.open { store, keys throws(CommandError) in
        let isRefreshKey = keys.master.keys[KeyID(id)] != nil
        if isRefreshKey {
          guard folder.keys == nil else { throw folder.keysElsewhere }
          let isCurrent = keys.master.current == KeyID(id)
          if !force || isCurrent { try await RefreshKeyRing(store).requireUnused(KeyID(id), now: .current) }
          try await RefreshKeyRing(store).reseal(now: .current)
          do throws(RegistryOpenError) { try folder.files.retireKey(KeyID(id)) } catch { throw CommandError(error) }
        } else {
          try SigningKeyRing.locked(in: folder.path) { ring throws(CommandError) in
            try ring.retire(id, at: .current, force: force)
          }
        }
        try await store.audit(.keyRetired, key: [id])
        return isRefreshKey
      }
      output.write(
        ["retired": id],
        or: "retired \(id); it is accepted until the server is \(isRefreshKey ? "restarted" : "reloaded")")
    }
  }
}

extension AdminFolder {
  fileprivate var keysElsewhere: CommandError {
    CommandError(
      .usage, "the refresh keys are in \(keysPlace), which this command cannot change",
      hint: "change its JSON: add a key to keys and name it in current, or remove one")
  }
}
#endif
