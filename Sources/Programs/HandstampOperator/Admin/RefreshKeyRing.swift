#if Operator
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite

/// The keys of refresh tokens, with what needs them, see ``KeyDependents``.
struct RefreshKeyRing {
  enum State: String {
    case current, accepted, retired
    /// It is not in the key file, and was not retired: tokens made with it are answered with 503.
    case missing
  }

  let store: AdminStore
  private var keys: MasterKeys { store.keys.master }

  func state(of id: KeyID) -> State {
    if keys.keys[id] == nil { return keys.retired.contains(id) ? .retired : .missing }
    return id == keys.current ? .current : .accepted
  }

  /// All keys of the file, and those that are missing or retired and needed.
  func dependents(now: UnixTime) async throws(CommandError) -> [KeyID: KeyDependents] {
    try await ask { () async throws(RegistryError) in try await store.registry.keyDependents(now: now) }
      .filter { keys.keys[$0.key] != nil || !$0.value.isEmpty }
  }

  /// Lines about keys that something depends on and that this server does not have.
  func losses(now: UnixTime) async throws(CommandError) -> [String] {
    try await ask { () async throws(RegistryError) in try await store.registry.lostKeys(now: now) }
      .sorted { $0.key < $1.key }.map { "the key \($0.key) \(word(for: $0.key)): \($0.value.words)" }
  }

  private func word(for id: KeyID) -> String { state(of: id) == .retired ? "was retired" : "is missing" }

  /// Seals what is sealed with a key that is about to be retired with the current one.
  func reseal(now: UnixTime) async throws(CommandError) {
    try await ask { () async throws(RegistryError) in try await store.registry.resealAll(now: now) }
  }

  /// Refuses a key that something in use was made with.
  ///
  /// - Parameter force: whether only the current key is refused.
  /// - Returns: what depends on the key all the same.
  func requireUnused(_ id: KeyID, force: Bool = false, now: UnixTime) async throws(CommandError) -> KeyDependents {
    let dependents = try await dependents(now: now)[id]
    guard id != keys.current else {
      throw CommandError(
        .failure, "the key \(id) is the current one", hint: "run first: handstamp-server admin keys rotate refresh",
        code: "key_in_use")
    }
    guard !force else { return dependents ?? KeyDependents() }
    guard let dependents else { throw .noSuchKey(id.rawValue) }
    if let lastUse = dependents.lastUse, now.since(lastUse) < Registry.keyUseSlack {
      throw CommandError(
        .failure, "a server has made tokens with \(id) within the last two minutes",
        hint: "restart every server, and run the command again two minutes later", code: "key_in_use")
    }
    guard dependents.isEmpty else {
      throw CommandError(
        .failure, "the key \(id) is needed: \(dependents.words)",
        hint: dependents.items[.webhook] == nil
          ? "keep the key until they have ended; with --force they are lost, and clients signed out"
          : "make other secrets with handstamp-server admin webhooks secret, and retire the key a day later; or add"
            + " --force",
        code: "key_in_use")
    }
    return dependents
  }

  private func ask<Value>(_ read: () async throws(RegistryError) -> Value) async throws(CommandError) -> Value {
    do throws(RegistryError) { return try await read() } catch {
      throw CommandError(AdministrationError.registry(error))
    }
  }
}
#endif
