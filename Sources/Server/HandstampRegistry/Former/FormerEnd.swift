import HandstampCore
import HandstampSupport

/// A session that is still to be ended at the former system, because it has been taken over.
package struct FormerEnd: RetriedJob {
  package static let kind = StoredItem.Kind.formerEnd
  /// How long a job that was given up is kept.
  static let memory = Duration.seconds(30 * 86_400)

  /// Its refresh token there, sealed.
  package var refresh: String
  /// Its access token there, sealed; `nil` if that ends no session.
  package var access: String?
  package var attempts = 0
  package var lease = ""
  package var failures = 0
  package var failure: String?

  package init(refresh: String, access: String?) {
    self.refresh = refresh
    self.access = access
  }

  /// A token that nothing is done with any more is not kept.
  package mutating func giveUp() { (refresh, access) = ("", nil) }

  package var fields: [String: String?] {
    [
      "refresh": refresh, "access": access, "attempts": String(attempts), "lease": lease,
      "failures": String(failures), "failure": failure,
    ]
  }

  package init?(fields: [String: String]) {
    guard let refresh = fields["refresh"], let attempts = fields["attempts"].flatMap({ Int($0) }),
      let lease = fields["lease"], let failures = fields["failures"].flatMap({ Int($0) })
    else { return nil }
    self.init(refresh: refresh, access: fields["access"])
    self.attempts = attempts
    (self.lease, self.failures, failure) = (lease, failures, fields["failure"])
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

extension ClaimedJob where Job == FormerEnd {
  /// The context that its tokens are sealed with.
  package var context: String { Base64URL.encode(item.id.bytes) }
}
