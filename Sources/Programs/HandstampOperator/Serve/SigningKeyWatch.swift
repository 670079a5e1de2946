#if Operator
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import Logging

/// Compares the signing keys and the issuer of this server with those of the others on its database. An access token of one must be good
/// at all.
///
/// The keys of refresh tokens need no such watch: the database knows them.
final class SigningKeyWatch: Sendable {
  private static let interval = Duration.seconds(60)

  private let registry: Registry
  private let logger: Logger
  private let keys: Locked<NodeKeys>
  /// Whether there can be servers with another file of keys. Those on one folder may read a key later than this one, which is no fault.
  private let isSharing: Bool
  /// The server's clock.
  private let now: @Sendable () -> UnixTime

  init(_ keys: SigningKeys, of server: SessionServer, sharing isSharing: Bool) {
    self.isSharing = isSharing
    now = { server.now() }
    registry = server.registry
    logger = server.configuration.logger
    self.keys = Locked(
      NodeKeys(
        node: UUID().uuidString, issuer: server.configuration.issuerIdentifier, signing: Set(keys.signingIDs),
        published: Set(keys.ids)))
  }

  /// - Throws: ``CommandError`` if another server has other keys, or another issuer.
  func start() async throws {
    guard let difference = try await difference() else { return }
    try? await registry.forget(keys.withLock { $0 })
    throw difference
  }

  /// Uses other keys from now on, after a reload.
  func replace(by new: SigningKeys) async {
    keys.withLock { keys in
      keys.signing = Set(new.signingIDs)
      keys.published = Set(new.ids)
    }
    await look()
  }

  /// Goes on until the task is cancelled, then forgets this server.
  func run() async {
    while (try? await Task.sleep(for: SigningKeyWatch.interval)) != nil { await look() }
    // In a task of its own: this one is cancelled.
    await Task { [registry, keys] in try? await registry.forget(keys.withLock { $0 }) }.value
  }

  private func look() async {
    do {
      guard let difference = try await difference() else { return }
      logger.error(
        "Server differs from another one on its database",
        metadata: ["handstamp.cause": "\(difference.message)", "handstamp.hint": "\(difference.hint)"])
    } catch {
      // Requests report what is wrong with the database.
    }
  }

  private func difference() async throws -> CommandError? {
    let own = keys.withLock { $0 }
    let others = try await registry.note(own, now: now())
    if let other = others.first(where: { $0.issuer != own.issuer }) {
      return CommandError(
        .failure, "another server on this database has the issuer \(other.issuer), and this one \(own.issuer)",
        hint: "give all of them the same --issuer; if the other one no longer runs, try again in three minutes")
    }
    let unknown = others.reduce(into: Set<String>()) { $0.formUnion(own.unknown(to: $1)) }
    guard isSharing, !unknown.isEmpty else { return nil }
    return CommandError(
      .failure,
      "another server on this database signs access tokens with other keys (\(unknown.sorted().joined(separator: ", ")))",
      hint: "copy signing.pem and signing.json from its data folder; if it no longer runs, try again in three minutes")
  }
}
#endif
