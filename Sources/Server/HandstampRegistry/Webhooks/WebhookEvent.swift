import HandstampCore

/// The events that a webhook can be for.
public enum WebhookEvent: String, Sendable, Hashable, Codable, CaseIterable {
  /// A user signed in.
  case sessionBegan = "session.began"
  /// A session ended, for any reason.
  case sessionEnded = "session.ended"
  /// A session ended because its token or code was used twice. Messages name it ``sessionEnded``, with the reason `token_reuse`.
  case sessionTheft = "session.theft"
  /// A password, a passkey, recovery codes or the address changed.
  case credentialChanged = "credential.changed"
  case accountDisabled = "account.disabled"
  case accountEnabled = "account.enabled"
  /// The account was permanently deleted.
  case accountPurged = "account.purged"

  /// The name of an event in messages.
  public init(_ event: RegistryEvent) {
    self =
      switch event.kind {
      case .sessionEstablished: .sessionBegan
      case .sessionRevoked: .sessionEnded
      case .credentialChange: .credentialChanged
      case .accountDisabled: .accountDisabled
      case .accountEnabled: .accountEnabled
      case .accountPurged: .accountPurged
      }
  }
}

extension Set<WebhookEvent> {
  /// Whether an event is one of these; an empty set has all.
  func covers(_ event: RegistryEvent) -> Bool {
    isEmpty || contains(WebhookEvent(event)) || event.reason == .tokenReuseDetected && contains(.sessionTheft)
  }
}
