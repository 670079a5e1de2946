#if Server
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// A message to a receiver. It names accounts and sessions by their IDs, and has nothing else about a person.
struct WebhookMessage: Sendable {
  /// The same for each attempt, so that receivers recognize repetitions. It contains a hash of the event: a restored store gives
  /// the same numbers to other events.
  let id: String
  /// `nil` for a test.
  let event: StoredEvent?
  /// How credentials have changed; `nil` if that is not known.
  var change: AuditedAction.Kind?
  private let at: UnixTime

  init(_ event: StoredEvent, change: AuditedAction.Kind?) {
    id = "evt_\(RevocationCursor(event))"
    self.event = event
    self.change = change
    at = event.event.at
  }

  init(test id: String, at now: UnixTime) {
    self.id = id
    event = nil
    at = now
  }

  /// The payload of Standard Webhooks.
  var json: JSONText {
    var data = JSONText()
    if let event {
      data.add("event", event.id.rawValue)
      data.add("account", event.event.account.rawValue)
      data.add("session", ifPresent: event.event.session?.rawValue)
      data.add("reason", ifPresent: event.event.reason?.rawValue)
      data.add("change", ifPresent: change?.rawValue)
    }
    var json = JSONText()
    json.add("type", event.map { WebhookEvent($0.event).rawValue } ?? "webhook.test")
    json.add("timestamp", at.description)
    json.add("data", data)
    return json
  }

  func token(from issuer: String, to audience: String, at now: UnixTime) -> SecurityEventToken {
    var subject = SecurityEventSubject(account: audience)
    var (type, details) = (SecurityEventType.verification, [String: JSONValue]())
    if let event = event?.event {
      subject = SecurityEventSubject(
        issuer: issuer, account: event.account.rawValue, session: event.session?.rawValue)
      type = SecurityEventType(event.kind)
      details["event_timestamp"] = .integer(event.at.seconds)
      if let reason = event.reason {
        details["reason_admin"] = .object(["en": .string(reason.rawValue)])
        details["initiating_entity"] = reason.initiator.map { .string($0) }
      }
      if type == .credentialChange {
        let (credential, how) = change?.credential ?? ("other", "update")
        details["credential_type"] = .string(credential)
        details["change_type"] = .string(how)
      }
    }
    return SecurityEventToken(
      issuer: issuer, audience: [audience], issuedAt: now.seconds, id: id, transaction: id, subject: subject,
      events: [type.rawValue: .object(details)])
  }
}

extension SecurityEventType {
  fileprivate init(_ kind: RegistryEvent.Kind) {
    self =
      switch kind {
      case .sessionEstablished: .sessionEstablished
      case .sessionRevoked: .sessionRevoked
      case .credentialChange: .credentialChange
      case .accountDisabled: .accountDisabled
      case .accountEnabled: .accountEnabled
      case .accountPurged: .accountPurged
      }
  }
}

extension EndReason {
  /// The `initiating_entity` of CAEP 1.0 section 2; `nil` where the event does not tell.
  fileprivate var initiator: String? {
    switch self {
    case .signedOut: "user"
    case .replaced, .tokenReuseDetected, .expired, .idle, .repeatRefused: "policy"
    default: nil
    }
  }
}

extension AuditedAction.Kind {
  /// The `credential_type` and `change_type` of CAEP 1.0 section 3.3; `nil` for other actions.
  fileprivate var credential: (String, String)? {
    switch self {
    case .passwordChanged, .passwordReset: ("password", "update")
    case .passwordRemoved, .takenBack: ("password", "revoke")
    case .passkeyAdded: ("passkey", "create")
    case .passkeyRemoved: ("passkey", "delete")
    case .totpAdded: ("app", "create")
    case .totpRemoved: ("app", "delete")
    case .identityLinked: ("identity", "create")
    case .identityUnlinked: ("identity", "delete")
    case .recoveryCodesMade: ("recovery-codes", "create")
    case .emailChanged: ("email", "update")
    default: nil
    }
  }
}

extension Webhook.Settings {
  /// The URL as it is requested; `nil` for one that is not allowed. All parsers have to read the same host in it, because the
  /// connection is pinned to that host's address.
  var address: WebURL? {
    guard url.utf8.count <= 1024, url.utf8.allSatisfy({ (33...126).contains($0) }), !url.contains("#"),
      let address = WebURL(url), address.origin.scheme == "https" || allowsPrivate
    else { return nil }
    return address
  }

  /// Whether the name can be one.
  var hasValidName: Bool {
    (1...64).contains(name.utf8.count) && name.utf8.allSatisfy(\.isOfName)
  }
}

extension WebURL {
  /// The URL with its host in lower case.
  var text: String { origin.text + path + (query.map { "?" + $0 } ?? "") }
}
#endif
