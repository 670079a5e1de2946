import HandstampCore
import HandstampSupport

/// A session that is still to be ended at the former system, because it has been taken over.
package struct FormerEnd: StoredJob {
  package static let kind = StoredItem.Kind.formerEnd
  /// How long a job that was given up is kept.
  static let memory = Duration.seconds(30 * 86_400)

  /// Its refresh token there, sealed.
  package var refresh: String
  /// Its access token there, sealed; `nil` if that ends no session.
  package var access: String?
  package var tries = JobTries()

  package init(refresh: String, access: String?) {
    self.refresh = refresh
    self.access = access
  }

  /// A token that nothing is done with any more is not kept.
  package mutating func giveUp() { (refresh, access) = ("", nil) }

  package var fields: [String: String?] {
    tries.fields.merging(["refresh": refresh, "access": access]) { $1 }
  }

  package init?(fields: [String: String]) {
    guard let refresh = fields["refresh"], let tries = JobTries(fields: fields) else { return nil }
    self.init(refresh: refresh, access: fields["access"])
    self.tries = tries
  }

  package static func id(for token: FormerToken) -> StoredItemID {
    StoredItemID(.formerEnd, Base64URL.encode(token.id.bytes))
  }

  /// The context that the tokens of a job are sealed with.
  package static func context(of token: FormerToken) -> String { Base64URL.encode(id(for: token).bytes) }

  /// The change that stores the job.
  func change(for token: FormerToken, now: UnixTime) -> RegistryChange {
    .putItem(
      StoredItem(
        id: FormerEnd.id(for: token), kind: .formerEnd, payload: PayloadCoding.text(self), createdAt: now, dueAt: now,
        expiresAt: now.advanced(by: FormerEnd.memory)))
  }
}
