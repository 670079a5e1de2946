import Crypto
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
  package struct PreviousSigner: Sendable, Hashable {
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
  package internal(set) var previousSigner: PreviousSigner?
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

extension Webhook: StoredPayload {
  package var fields: [String: String?] {
    var fields: [String: String?] = [
      "name": settings.name, "url": settings.url, "format": settings.format.rawValue, "audience": settings.audience,
      "events": settings.events.map(\.rawValue).sorted().joined(separator: ","),
      "private": settings.allowsPrivate ? "1" : nil, "id": id, "key": signer.key.rawValue,
      "generation": String(signer.generation), "previousKey": previousSigner?.signer.key.rawValue,
      "previousGeneration": previousSigner.map { String($0.signer.generation) },
      "previousUntil": Webhook.text(previousSigner?.until), "cursor": String(cursor.rawValue),
      "delivered": String(delivered), "success": Webhook.text(lastSuccessAt), "failed": Webhook.text(lastFailureAt),
      "failure": failure, "gone": isGone ? "1" : nil, "test": test, "paused": Webhook.text(pausedUntil),
      "lease": lease, "leased": Webhook.text(leasedUntil),
    ]
    for (number, lane) in lanes.enumerated() {
      fields["a\(number)"] = lane.account.rawValue
      fields["p\(number)"] = String(lane.position.rawValue)
      fields["n\(number)"] = String(lane.failures)
      fields["s\(number)"] = Webhook.text(lane.since)
      fields["d\(number)"] = String(lane.dueAt.milliseconds)
    }
    return fields
  }

  package init?(fields: [String: String]) {
    guard let name = fields["name"], let url = fields["url"], let id = fields["id"], let key = fields["key"],
      let format = fields["format"].flatMap({ Format(rawValue: $0) }),
      let generation = fields["generation"].flatMap({ Int64($0) }),
      let cursor = fields["cursor"].flatMap({ Int64($0) }), let events = fields["events"],
      let delivered = fields["delivered"].flatMap({ Int64($0) }), let lease = fields["lease"]
    else { return nil }
    let names = events.split(separator: ",").map { WebhookEvent(rawValue: String($0)) }
    // Without one that only a newer version knows, an empty rest would stand for all.
    guard !names.contains(nil) else { return nil }
    let settings = Settings(
      name: name, url: url, events: Set(names.compactMap { $0 }), format: format, audience: fields["audience"],
      allowsPrivate: fields["private"] != nil)
    self.init(
      settings: settings, id: id, signer: Signer(key: KeyID(key), generation: generation),
      cursor: EventID(rawValue: cursor))
    if let key = fields["previousKey"], let number = fields["previousGeneration"].flatMap({ Int64($0) }),
      let until = fields.time("previousUntil")
    {
      previousSigner = PreviousSigner(signer: Signer(key: KeyID(key), generation: number), until: until)
    }
    self.delivered = delivered
    (lastSuccessAt, lastFailureAt, failure) = (fields.time("success"), fields.time("failed"), fields["failure"])
    (isGone, test, pausedUntil) = (fields["gone"] != nil, fields["test"], fields.time("paused"))
    (self.lease, leasedUntil) = (lease, fields.time("leased"))
    lanes = (0..<Webhook.mostLanes).compactMap { number in
      guard let account = fields["a\(number)"], let position = fields["p\(number)"].flatMap({ Int64($0) }),
        let failures = fields["n\(number)"].flatMap({ Int($0) }), let due = fields.time("d\(number)")
      else { return nil }
      return Lane(
        account: AccountID(account), position: EventID(rawValue: position), failures: failures,
        since: fields.time("s\(number)"), dueAt: due)
    }
  }

  private static func text(_ time: UnixTime?) -> String? { time.map { String($0.milliseconds) } }
}

extension DeadLetter: StoredPayload {
  package var fields: [String: String?] {
    [
      "event": String(event.rawValue), "type": type.rawValue, "account": account.rawValue,
      "session": session?.rawValue, "failure": failure, "at": String(givenUpAt.milliseconds),
    ]
  }

  package init?(fields: [String: String]) {
    guard let event = fields["event"].flatMap({ Int64($0) }), let account = fields["account"],
      let type = fields["type"].flatMap({ WebhookEvent(rawValue: $0) }), let failure = fields["failure"],
      let at = fields.time("at")
    else { return nil }
    self.init(
      event: EventID(rawValue: event), type: type, account: AccountID(account),
      session: fields["session"].map { SessionID($0) }, failure: failure, givenUpAt: at)
  }
}

extension Webhook {
  /// How long an event is tried before it is given up.
  package static let patience = Duration.seconds(86_400)
  /// The pause after the first failure of an event, doubled after each further one.
  private static let firstPause = Duration.seconds(5)
  /// The longest pause: a receiver that is back is not kept waiting for longer.
  private static let longestPause = Duration.seconds(900)

  /// Notes what became of a wave. Returns the events that are given up.
  ///
  /// - Parameter spread: a factor from 0.5 to 1 for each pause, so that many are not over at once.
  package mutating func note(
    _ outcomes: [WebhookWave.Outcome], of wave: WebhookWave, at now: UnixTime, spread: Double
  ) -> [DeadLetter] {
    var letters: [DeadLetter] = []
    let wasHeld = lanes.count == Webhook.mostLanes
    for outcome in outcomes {
      if outcome.delivered > 0 {
        delivered += Int64(outcome.delivered)
        lastSuccessAt = now
      }
      letters += note(outcome, at: now, spread: spread)
    }
    cursor = wave.cursor
    // The receiver is back.
    if wasHeld, outcomes.contains(where: { $0.delivered > 0 }) {
      for index in lanes.indices { lanes[index].dueAt = min(lanes[index].dueAt, now) }
    }
    return letters
  }

  private mutating func note(_ outcome: WebhookWave.Outcome, at now: UnixTime, spread: Double) -> [DeadLetter] {
    let course = outcome.course
    let previous = lanes.first { $0.account == course.account }
    lanes.removeAll { $0.account == course.account }
    let done = outcome.delivered < course.events.count ? outcome.delivered : nil
    guard let done else {
      if course.hasMore { lanes.append(Lane(account: course.account, position: course.end, dueAt: now)) }
      return []
    }
    let position = done > 0 ? course.events[..<done].last?.id ?? course.start : course.start
    var lane = Lane(account: course.account, position: position, dueAt: now)
    // Unless it is another event that fails now.
    if done == 0, let previous { (lane.failures, lane.since) = (previous.failures, previous.since) }
    defer { lanes.append(lane) }
    guard let failure = outcome.failure, let event = course.events.dropFirst(done).first else { return [] }
    (lastFailureAt, self.failure) = (now, failure.words)
    if failure.isGone { isGone = true }
    lane.failures += 1
    let since = lane.since ?? now
    lane.since = since
    if now.since(since) >= Webhook.patience {
      (lane.position, lane.failures, lane.since) = (event.id, 0, nil)
      return [
        DeadLetter(
          event: event.id, type: WebhookEvent(event.event), account: course.account, session: event.event.session,
          failure: failure.words, givenUpAt: now)
      ]
    }
    let pause = min(Webhook.firstPause * (1 << min(lane.failures - 1, 20)), Webhook.longestPause) * spread
    lane.dueAt = now.advanced(by: max(pause, failure.pause ?? .zero))
    if failure.pause != nil { pausedUntil = max(pausedUntil ?? now, lane.dueAt) }
    return []
  }

  /// Notes what became of a test message.
  mutating func noteTest(_ failure: WebhookFailure?, at now: UnixTime) {
    guard let failure else {
      lastSuccessAt = now
      delivered += 1
      return
    }
    (lastFailureAt, self.failure) = (now, failure.words)
  }

  /// Begins again after an event, also if the receiver was gone. A server that delivers at the moment stops.
  package mutating func restart(after position: EventID?, at now: UnixTime) {
    (isGone, pausedUntil, lease, leasedUntil) = (false, nil, "", nil)
    if let position {
      (cursor, lanes) = (position, [])
    } else {
      for index in lanes.indices { lanes[index].dueAt = now }
    }
  }
}

extension TokenMint {
  /// Returns a webhook's secret of 32 bytes, derived from a master key, so that the store needs none. `nil` if the key was retired.
  package func secret(of webhook: Webhook, by signer: Webhook.Signer) -> Secret? {
    guard let master = keys.keys[signer.key] else { return nil }
    return Derivation.key(
      from: Derivation.extract(master), for: .webhook,
      context: Array("\(webhook.id).\(signer.generation)".utf8), size: 32
    ).withUnsafeBytes { Secret(bytes: Array($0)) }
  }
}

extension Webhook {
  /// Those who sign a message at that time, the newest first.
  package func signers(at now: UnixTime) -> [Signer] {
    [signer] + (previousSigner.map { $0.until > now ? [$0.signer] : [] } ?? [])
  }
}

extension Registry {
  /// Returns the kind of a change of credentials, which the audit log has from the same write; `nil` if it is not among the latest
  /// entries about the account.
  package func credentialChange(_ event: RegistryEvent) async throws(RegistryError) -> AuditedAction.Kind? {
    try await latestAuditedActions(about: event.account, limit: 64).lazy
      .filter { $0.audited.at == event.at }.compactMap { AuditedAction.Kind(rawValue: $0.audited.action) }
      .first { Registry.credentialChanges.contains($0) }
  }

  private static let credentialChanges: Set<AuditedAction.Kind> = [
    .passwordChanged, .passwordReset, .passwordRemoved, .emailChanged, .passkeyAdded, .passkeyRemoved,
    .totpAdded, .totpRemoved, .identityLinked, .identityUnlinked, .recoveryCodesMade, .takenBack,
  ]
}
