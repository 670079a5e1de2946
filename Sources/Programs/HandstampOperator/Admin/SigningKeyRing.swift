#if Operator
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampServer
import HandstampSupport

/// The signing keys of a server's folder, with what an operator knows about them.
///
/// `signing.pem` has the keys; of each kind, servers sign with the first. `signing.json` has when each was added, and began and
/// ceased to sign. Without it, keys that do not sign count as former ones.
struct SigningKeyRing {
  /// How long verifiers may keep a key set before they see a new key (`Cache-Control` at `/.well-known/jwks.json`), twice.
  static let overlap = Duration.seconds(600)
  /// How long a key is kept that has ceased to sign: the longest life of access tokens that a server accepts.
  static let keeping = Duration.seconds(86_400)

  enum State: String {
    /// Published, to sign from the next rotation.
    case next
    case signing
    /// Verifies tokens that it signed.
    case former
  }

  /// The times of a key, in milliseconds.
  struct Times: Codable {
    var added: Int64?
    var used: Int64?
    var replaced: Int64?
  }

  private struct Document: Codable {
    static let format = 1
    var format = Document.format
    var keys: [String: Times]
  }

  let folder: String
  private(set) var keys: SigningKeys
  private(set) var times: [String: Times]

  private var path: String { folder + "/signing.pem" }
  private static func timesPath(_ folder: String) -> String { folder + "/signing.json" }

  /// Reads the keys and runs `body` with them, while no server adds one.
  static func locked<Value>(
    in folder: String, _ body: (inout SigningKeyRing) throws(CommandError) -> Value
  ) throws(CommandError) -> Value {
    let path = folder + "/signing.pem"
    guard FileManager.default.fileExists(atPath: path) else {
      throw CommandError(
        .failure, "there is no \(path)", hint: "start the server once, which creates it; or check --data")
    }
    let lock = open(path + ".lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw unchangeable(path, SystemError(attempt: "locking", code: errno)) }
    // Gives up the lock as well.
    defer { close(lock) }
    do throws(SystemError) { try SystemCall.retried("locking") { flock(lock, LOCK_EX) } } catch {
      throw unchangeable(path, error)
    }
    var ring = SigningKeyRing(
      folder: folder, keys: try SigningKeyFile(path: path).keys(needsRSA: false), times: try times(in: folder))
    return try body(&ring)
  }

  private static func times(in folder: String) throws(CommandError) -> [String: Times] {
    let path = timesPath(folder)
    guard FileManager.default.fileExists(atPath: path) else { return [:] }
    guard let content = FileManager.default.contents(atPath: path),
      let known = try? JSONDecoder().decode(Document.self, from: content), known.format == Document.format
    else {
      throw CommandError(
        .failure, "\(path) cannot be read, so it is not known which keys are in use",
        hint: "restore it from a backup, or remove it: keys that do not sign then count as former ones")
    }
    return known.keys
  }

  func state(of id: String) -> State {
    if keys.signingIDs.contains(id) { return .signing }
    let times = times[id]
    return times?.added != nil && times?.used == nil ? .next : .former
  }

  /// Adds a key of each kind that is published and does not sign yet; or, if there are such keys, has them sign.
  ///
  /// - Parameter atOnce: whether new keys sign although verifiers may not know them.
  /// - Returns: the IDs of the keys, and their state.
  mutating func rotate(at now: UnixTime, atOnce: Bool) throws(CommandError) -> (ids: [String], state: State) {
    let next = keys.ids.filter { state(of: $0) == .next }
    guard !next.isEmpty || atOnce else { return (try add(at: now), .next) }
    let ids = next.isEmpty ? try add(at: now) : next
    let added = ids.compactMap { times[$0]?.added }.max() ?? 0
    let wait = SigningKeyRing.overlap - now.since(UnixTime(milliseconds: added))
    guard wait <= .zero || atOnce else {
      throw CommandError(
        .failure,
        "the new key was added \((SigningKeyRing.overlap - wait).words) ago, and verifiers may not know it yet",
        hint: "run the same command again in \(wait.words), or add --at-once", code: "too_early")
    }
    let former = Set(keys.signingIDs)
    keys = keys.signers(for: Set(ids))
    for id in ids { times[id, default: Times()].used = now.milliseconds }
    for id in former.subtracting(keys.signingIDs) { times[id, default: Times()].replaced = now.milliseconds }
    try store()
    return (ids, .signing)
  }

  private mutating func add(at now: UnixTime) throws(CommandError) -> [String] {
    let former = Set(keys.ids)
    do throws(ServerConfigurationError) { keys = try keys.addingNextKey() } catch {
      throw CommandError(.failure, plain("\(error)"), hint: "try again later")
    }
    let new = keys.ids.filter { !former.contains($0) }
    for id in new { times[id] = Times(added: now.milliseconds) }
    try store()
    return new
  }

  /// Removes a key that does not sign.
  mutating func retire(_ id: String, at now: UnixTime, force: Bool) throws(CommandError) {
    guard keys.ids.contains(id) else { throw .noSuchKey(id) }
    guard state(of: id) != .signing, let left = keys.without(id) else {
      throw CommandError(
        .failure, "the key \(id) signs the access tokens",
        hint: "run first: handstamp-server admin keys rotate signing",
        code: "key_in_use")
    }
    if state(of: id) == .former, !force {
      let age = times[id]?.replaced.map { now.since(UnixTime(milliseconds: $0)) }
      guard let age, age >= SigningKeyRing.keeping else {
        throw CommandError(
          .failure, "access tokens of \(id) may still be valid; without it, their clients have to refresh",
          hint: "wait until a day after the rotation, or add --force", code: "key_in_use")
      }
    }
    keys = left
    times[id] = nil
    try store()
  }

  /// Writes both files. The times first: a key whose times are lost counts as a former one, and would not sign.
  private func store() throws(CommandError) {
    let known = Document(keys: times.filter { keys.ids.contains($0.key) })
    guard let document = try? known.jsonBytes(isPretty: true) else {
      throw CommandError(.failure, "cannot encode the times of the keys", hint: "this is a bug; please report it")
    }
    var bytes = keys.pem.withExposedBytes { Array($0) }
    defer { for index in bytes.indices { bytes[index] = 0 } }
    do throws(SystemError) {
      try AtomicFile.replace(SigningKeyRing.timesPath(folder), with: document)
      try AtomicFile.replace(path, with: bytes)
    } catch { throw SigningKeyRing.unchangeable(path, error) }
  }

  private static func unchangeable(_ path: String, _ error: SystemError) -> CommandError {
    CommandError(.failure, "\(path) cannot be changed: \(error.reason)", hint: "run the command as the folder's owner")
  }
}

extension CommandError {
  static func noSuchKey(_ id: String) -> CommandError {
    CommandError(
      .failure, "there is no key \(id)", hint: "run: handstamp-server admin keys list", code: "key_not_found")
  }
}
#endif
