#if Command
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite

/// The keys of refresh tokens, with the sessions that need them.
///
/// Sessions do not record their key. Servers note once a minute which key is their current one; sessions that were refreshed, or
/// began, after the last note of a key have no token of it.
struct RefreshKeyRing {
  /// How often servers note their key, twice: a server that was killed has used it for that long after its last note.
  static let slack = Duration.seconds(120)

  /// The known facts about a key.
  struct Facts {
    var id: KeyID
    var isCurrent: Bool
    /// When a server last noted that it makes tokens with the key.
    var lastUse: UnixTime?
    /// Live sessions that may have a refresh token of the key.
    var refreshTokens: Int
    /// Live sessions that may have a revocation handle of the key, which is made once, at sign-in.
    var revocationHandles: Int
  }

  let store: AdminStore
  private var keys: MasterKeys { store.keys.master }

  init(_ store: AdminStore) { self.store = store }

  func facts() async throws(CommandError) -> [Facts] {
    var all: [Facts] = []
    for id in keys.keys.keys.sorted() { all.append(try await facts(of: id)) }
    return all
  }

  func facts(of id: KeyID) async throws(CommandError) -> Facts {
    guard keys.keys[id] != nil else { throw .noSuchKey(id.rawValue) }
    let lastUse: UnixTime?
    do throws(RegistryError) { lastUse = try await store.registry.lastUse(of: id) } catch {
      throw CommandError(AdministrationError.registry(error))
    }
    let isCurrent = id == keys.current
    let time = isCurrent ? nil : lastUse?.advanced(by: RefreshKeyRing.slack)
    do throws(RegistryStoreError) {
      let (refreshed, begun) = try await store.store.liveSessions(upTo: time)
      return Facts(
        id: id, isCurrent: isCurrent, lastUse: lastUse, refreshTokens: refreshed, revocationHandles: begun)
    } catch { throw CommandError(error) }
  }

  /// Seals what is sealed with a key that is about to be retired with the current one.
  func reseal(now: UnixTime) async throws(CommandError) {
    do throws(RegistryError) {
      while try await store.registry.resealTOTP(all: true, now: now, limit: 500) == 500 {}
    } catch { throw CommandError(AdministrationError.registry(error)) }
  }

  /// Refuses a key that tokens in use were made with.
  func requireUnused(_ id: KeyID, now: UnixTime) async throws(CommandError) {
    let facts = try await facts(of: id)
    guard !facts.isCurrent else {
      throw CommandError(
        .failure, "the key \(id) is the current one", hint: "run first: handstamp admin keys rotate refresh",
        code: "key_in_use")
    }
    if let lastUse = facts.lastUse, now.since(lastUse) < RefreshKeyRing.slack {
      throw CommandError(
        .failure, "a server has made tokens with \(id) within the last two minutes",
        hint: "restart every server, and run the command again two minutes later", code: "key_in_use")
    }
    guard facts.revocationHandles == 0 else {
      throw CommandError(
        .failure,
        "\(facts.refreshTokens) live session(s) may have a refresh token of \(id), and \(facts.revocationHandles) a revocation handle",
        hint: "keep the key until they have ended; with --force they are signed out",
        code: "key_in_use")
    }
  }
}
#endif
