#if Server
import HandstampCore
import HandstampRegistry

/// The reason why a browser was sent to a provider. It travels in the sealed attempt.
struct ProviderErrand: Sendable, Hashable {
  enum Purpose: String, Sendable {
    case signIn = "sign-in"
    /// The signed-in user proves it again.
    case confirm
    /// The signed-in user, who has proved it a moment ago, adds a way in.
    case link
  }

  var purpose: Purpose
  /// The path of the page that it leads to, below the issuer.
  var next: String
  /// The session that asked for it; `nil` for a browser that was not signed in.
  var session: SessionID?
  /// The sign-in at the provider must not be older; `nil` if any will do.
  var freshSince: UnixTime?

  /// How much earlier than here the provider's clock may say that it was.
  private static let skew = Duration.seconds(60)

  /// Returns whether a sign-in is as fresh as it has to be. Of providers that do not say when it was, the browser's way there and back
  /// is all that is known: the session's methods say so, and it proves nothing for what takes ``OwnerAction/Proof/strong``.
  func isMet(by user: UpstreamUser) -> Bool {
    guard let freshSince, let proven = user.authenticatedAt else { return true }
    return proven >= freshSince.advanced(by: .zero - ProviderErrand.skew)
  }
}

extension ProviderErrand: StoredPayload {
  var fields: [String: String?] {
    [
      "for": purpose.rawValue, "next": next, "session": session?.rawValue,
      "since": freshSince.map { String($0.milliseconds) },
    ]
  }

  init?(fields: [String: String]) {
    guard let purpose = fields["for"].flatMap({ Purpose(rawValue: $0) }), let next = NextPage(fields["next"]).asked
    else { return nil }
    self.init(
      purpose: purpose, next: next, session: fields["session"].map { SessionID($0) },
      freshSince: fields.time("since"))
  }
}
#endif
