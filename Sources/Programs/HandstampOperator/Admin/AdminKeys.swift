#if Operator
import ArgumentParser
import HandstampCommandLine
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
      /// That of ``SigningKeyRing/State`` or ``RefreshKeyRing/State``.
      var state: String
      /// Of a signing key.
      var algorithm: String?
      var refresh: KeyDependents?
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
      let refresh = try await folder.open { store throws(CommandError) in
        let ring = RefreshKeyRing(store: store)
        return try await ring.dependents(now: .current).sorted { $0.key < $1.key }.map {
          Item(kind: .refresh, id: $0.key.rawValue, state: ring.state(of: $0.key).rawValue, refresh: $0.value)
        }
      }
      output.write(
        "keys", signing + refresh,
        [
          Column("kind", as: "KIND", \.kind.rawValue),
          Column("id", as: "ID", \.id),
          Column("state", as: "STATE", \.state),
          Column("algorithm", as: "ALGORITHM", \.algorithm),
          Column("refreshTokens", as: "REFRESH TOKENS (MAX)", \.refresh?.refreshTokens),
          Column("revocationHandles", as: "REVOCATION HANDLES (MAX)", \.refresh?.handles),
          Column("storedSecrets", as: "STORED SECRETS", { $0.refresh?.items.values.reduce(0, +) }),
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
      try await folder.open { store throws(CommandError) in
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
      guard folder.keys == nil else {
        throw folder.keysElsewhere("add a key to keys there, and name it in current; leave the former one")
      }
      return try await folder.open { store throws(CommandError) in
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
        refused while something needs the key: tokens in use, webhooks,
        authenticator apps; what is stored sealed gets the current key first;
        with --force, clients that present a token of a refresh key are signed
        out, and the key is never accepted again: for one that has leaked, or is
        lost
        """)

    @Argument(help: "ID of the key") var id: String
    @Flag(help: "retire it although it is needed") var force = false
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let folder = try options.folder()
      let lost = try await folder.open { store async throws(CommandError) -> KeyDependents? in
        // The ID of a signing key, a thumbprint, is longer.
        guard KeyID(id).isValid else {
          try SigningKeyRing.locked(in: folder.path) { ring throws(CommandError) in
            try ring.retire(id, at: .current, force: force)
          }
          try await store.audit(.keyRetired, key: [id])
          return nil
        }
        let ring = RefreshKeyRing(store: store)
        try await ring.reseal(now: .current)
        let lost = try await ring.requireUnused(KeyID(id), force: force, now: .current)
        guard folder.keys == nil else {
          throw folder.keysElsewhere("remove \(id) from keys there, and add it to retired")
        }
        do throws(RegistryOpenError) { try folder.files.retireKey(KeyID(id)) } catch { throw CommandError(error) }
        try await store.audit(.keyRetired, key: [id])
        return lost
      }
      output.write(
        ["retired": id],
        or: "retired \(id); it is accepted until the server is \(lost == nil ? "reloaded" : "restarted")")
      if let words = lost?.itemWords, !words.isEmpty {
        Terminal.say("lost with it, and to be made anew by their owners: \(words.joined(separator: ", "))")
      }
    }
  }
}

extension AdminFolder {
  /// - Parameter hint: the change of its JSON.
  fileprivate func keysElsewhere(_ hint: String) -> CommandError {
    CommandError(
      .usage, "the refresh keys are in \(keysPlace), which this command cannot change", hint: hint)
  }
}
#endif
