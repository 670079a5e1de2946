#if Server
import Crypto
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// The position of a verifier in the store's events: the ID of one, and a hash of what it says.
///
/// A restored database gives the same IDs to other events. With the ID alone a verifier would continue behind events that it has
/// never seen.
struct RevocationCursor: Sendable, Hashable, CustomStringConvertible {
  let id: EventID
  /// As sent.
  let description: String

  init(_ stored: StoredEvent) {
    id = stored.id
    let event = stored.event
    let parts = [
      event.kind.rawValue, event.account.rawValue, event.session?.rawValue ?? "", "\(event.at.milliseconds)",
    ]
    let hash = SHA256.hash(data: Array(parts.joined(separator: "\n").utf8))
    description = "\(stored.id)-\(Base64URL.encode(Array(hash.prefix(12))))"
  }

  /// Where a feed starts.
  enum Start: Sendable {
    /// After an event that the verifier has.
    case resumed(RevocationCursor)
    /// After an ID, with every session whose tokens may be valid still.
    case snapshot(EventID)

    var id: EventID {
      switch self {
      case .resumed(let cursor): cursor.id
      case .snapshot(let id): id
      }
    }
  }

  /// Returns where a feed starts that has a verifier's last cursor. A cursor whose event is not there, or another one, starts
  /// from the beginning.
  static func start(
    after text: String?, in registry: Registry, now: UnixTime, life: Duration
  ) async throws(RegistryError) -> Start {
    if let text, let id = text.split(separator: "-", maxSplits: 1).first.flatMap({ Int64($0) }),
      let stored = try await registry.event(EventID(rawValue: id))
    {
      let cursor = RevocationCursor(stored)
      if cursor.description == text { return .resumed(cursor) }
    }
    let longest = max(life, try await registry.longestTokenLife(now: now))
    // Sessions whose tokens have all expired are left out.
    return .snapshot(try await registry.eventID(before: Registry.revocationHorizon(now: now, life: longest)))
  }
}
#endif
