public import HandstampCore

/// A receiver that is told of the store's events, by HTTP.
///
/// A webhook is a cursor over events that are stored anyway, so that its queue costs no write, survives every crash, and is bounded by
/// ``RegistryLimits/retention``. An event that the receiver does not take holds back the later ones of its account, in a
/// `Lane`, and no others. When all lanes are taken, the cursor stays: then it is the receiver that fails.
public struct Webhook: Sendable, Hashable {
  /// The form of messages.
  public enum Format: String, Sendable, Hashable, Codable, CaseIterable {
    /// JSON, signed with a shared secret (Standard Webhooks 1.0).
    case standard
    /// A security event token, signed with the server's key (RFC 8417, pushed by RFC 8935).
    case set
  }

  /// The decisions of an administrator.
  public struct Settings: Sendable, Hashable {
    /// 1 to 64 lower-case letters, digits and `-`.
    public var name: String
    /// An `https` URL; with ``allowsPrivate`` also an `http` one.
    public var url: String
    /// Empty for all.
    public var events: Set<WebhookEvent>
    public var format: Format
    /// The `aud` of security event tokens; `nil` is the URL.
    public var audience: String?
    /// Whether its host may have an address that is not public.
    public var allowsPrivate: Bool

    public init(
      name: String, url: String, events: Set<WebhookEvent> = [], format: Format = .standard, audience: String? = nil,
      allowsPrivate: Bool = false
    ) {
      self.name = name
      self.url = url
      self.events = events
      self.format = format
      self.audience = audience
      self.allowsPrivate = allowsPrivate
    }
  }

  /// A secret that is derived from a master key, so that none is stored.
  package struct Signer: Sendable, Hashable {
    package var key: KeyID
    package var generation: Int64
  }

  /// A signer that signs beside the one that has replaced it.
  package struct FormerSigner: Sendable, Hashable {
    package var signer: Signer
    package var until: UnixTime
  }

  /// An account whose oldest undelivered event waits for another attempt, and its later ones behind it.
  package struct Lane: Sendable, Hashable {
    package var account: AccountID
    /// All events of the account up to here are delivered or given up.
    package var position: EventID
    /// Of the next event.
    package var failures = 0
    /// When the next event failed first.
    package var since: UnixTime?
    package var dueAt: UnixTime
  }

  /// How many accounts may wait for another attempt, and how many requests are in flight at once.
  package static let mostLanes = 16

  public let settings: Settings
  /// Drawn anew for each webhook, so that another one with the same name has other secrets.
  package let id: String
  package internal(set) var signer: Signer
  /// All events up to here are delivered, given up, or in a lane.
  public internal(set) var cursor: EventID
  /// How many messages the receiver has taken.
  public internal(set) var delivered: Int64 = 0
  public internal(set) var lastSuccessAt: UnixTime?
  public internal(set) var lastFailureAt: UnixTime?
  /// Why the last failed attempt failed.
  public internal(set) var failure: String?
  /// Whether the receiver has answered that it is gone (410). Nothing is sent until an administrator resumes.
  public internal(set) var isGone = false
  package internal(set) var lanes: [Lane] = []
  /// The signer before the last change of the secret.
  package internal(set) var formerSigner: FormerSigner?
  /// The ID of a test message that is still to be sent.
  public internal(set) var test: String?
  /// Until when the receiver has asked for a pause.
  package internal(set) var pausedUntil: UnixTime?
  /// The server that delivers at the moment, and until when. Empty if none does.
  package internal(set) var lease = ""
  package internal(set) var leasedUntil: UnixTime?

  public var name: String { settings.name }
  /// How many accounts wait for another attempt.
  public var held: Int { lanes.count }

  /// Whether there may be something to send, and no server sends it.
  package func isDue(at now: UnixTime, newest: EventID) -> Bool {
    (leasedUntil.map { $0 <= now } ?? true) && hasWork(at: now, newest: newest)
  }

  /// Whether there may be something to send.
  package func hasWork(at now: UnixTime, newest: EventID) -> Bool {
    guard !isGone, pausedUntil.map({ $0 <= now }) ?? true else { return test != nil }
    // A store that was restored by hand may have lost events that were delivered.
    return test != nil || newest != cursor && lanes.count < Webhook.mostLanes || lanes.contains { $0.dueAt <= now }
  }
}

/// An event that a receiver has not taken for a day. It can be sent again as long as the event is stored.
public struct DeadLetter: Sendable, Hashable {
  public let event: EventID
  public let type: WebhookEvent
  public let account: AccountID
  public let session: SessionID?
  /// Why the last attempt failed.
  public let failure: String
  public let givenUpAt: UnixTime
}
