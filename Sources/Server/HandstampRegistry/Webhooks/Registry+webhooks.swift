package import HandstampCore
import HandstampSupport

extension Registry {
  /// How many webhooks there may be.
  package static let mostWebhooks = 32
  /// How long the previous secret of a webhook signs beside the new one.
  private static let secretOverlap = Duration.seconds(86_400)
  private static let webhooks = "webhooks"

  private static func webhookID(_ name: String) -> StoredItemID { StoredItemID(.webhook, name) }
  // Accounts of apps have IDs of any form, but not this one.
  private static func letters(_ name: String) -> String { "webhook\n\(name)" }

  /// Returns the webhooks, the oldest first.
  package func webhooks() async throws(RegistryError) -> [Webhook] {
    try await items(.webhook, of: Registry.webhooks).compactMap { PayloadCoding.value(Webhook.self, $0.payload) }
  }

  /// Adds a webhook, which is told of events from now on. Returns `nil` if its name is taken.
  package func addWebhook(_ settings: Webhook.Settings, now: UnixTime) async throws(RegistryError) -> Webhook? {
    var source = source
    let webhook = Webhook(
      settings: settings, id: Base64URL.encode(randomBytes(16, from: &source)),
      signer: Webhook.Signer(key: mint.keys.current, generation: 0), cursor: try await lastEventID())
    let item = StoredItem(
      id: Registry.webhookID(settings.name), kind: .webhook, subject: Registry.webhooks,
      payload: PayloadCoding.text(webhook), createdAt: now, expiresAt: now.advanced(by: StoredItem.forever))
    let audit = audited(.webhookAdded, details: details(settings.name), at: now)
    return try await write([.createItem(item), audit], []) ? webhook : nil
  }

  /// Removes a webhook with its dead letters. Returns whether there was one.
  package func removeWebhook(_ name: String, now: UnixTime) async throws(RegistryError) -> Bool {
    for _ in 0..<Registry.attempts {
      guard let item = try await item(Registry.webhookID(name)) else { return false }
      let changes: [RegistryChange] = [
        .removeItem(item), .removeItems(.deadLetter, subject: Registry.letters(name)),
        audited(.webhookRemoved, details: details(name), at: now),
      ]
      if try await write(changes, []) { return true }
    }
    throw Registry.contention
  }

  /// Gives a webhook another secret. For a day messages are also signed with the previous one. Returns `nil` if there is no such
  /// webhook.
  package func renewSecret(ofWebhook name: String, now: UnixTime) async throws(RegistryError) -> Webhook? {
    let audit = audited(.webhookSecretMade, details: details(name), at: now)
    return try await changeWebhook(name, with: [audit]) { webhook in
      webhook.previousSigner = Webhook.PreviousSigner(
        signer: webhook.signer, until: now.advanced(by: Registry.secretOverlap))
      webhook.signer = Webhook.Signer(key: mint.keys.current, generation: webhook.signer.generation + 1)
      return true
    }
  }

  /// Has a webhook's receiver told again, also if it was gone. Returns `nil` if there is no such webhook.
  ///
  /// - Parameter first: the first event that is sent again, with all later ones; `nil` goes on with those that were not delivered.
  package func restartWebhook(
    _ name: String, from first: EventID?, now: UnixTime
  ) async throws(RegistryError) -> Webhook? {
    var changes = [audited(.webhookRestarted, details: details(name), at: now)]
    if let first {
      let items = try await items(.deadLetter, of: Registry.letters(name))
      changes += items.filter { PayloadCoding.value(DeadLetter.self, $0.payload).map { $0.event >= first } ?? false }
        .map { .removeItem($0) }
    }
    let newest = try await lastEventID()
    return try await changeWebhook(name, with: changes) { webhook in
      let position = first.map { min(EventID(rawValue: max($0.rawValue, 1) - 1), newest) }
      webhook.restart(after: position, at: now)
      return true
    }
  }

  /// Has a test message sent. Returns its ID, or `nil` if there is no such webhook.
  package func testWebhook(_ name: String) async throws(RegistryError) -> String? {
    var source = source
    let id = "test_" + Base64URL.encode(randomBytes(12, from: &source))
    return try await changeWebhook(name) { webhook in
      webhook.test = id
      return true
    } == nil ? nil : id
  }

  /// Returns the events that a webhook's receiver has not taken, the oldest first.
  package func deadLetters(of name: String) async throws(RegistryError) -> [DeadLetter] {
    try await items(.deadLetter, of: Registry.letters(name))
      .compactMap { PayloadCoding.value(DeadLetter.self, $0.payload) }
      .sorted { $0.event < $1.event }
  }

  private func details(_ name: String) -> String { JSONText([("webhook", name)]).text }

  /// Changes a webhook, again if it has changed meanwhile.
  ///
  /// - Parameter body: returns whether to store its change.
  /// - Returns: `nil` if there is no such webhook, or `body` did not want the change.
  private func changeWebhook(
    _ name: String, with more: [RegistryChange] = [], _ body: (inout Webhook) -> Bool
  ) async throws(RegistryError) -> Webhook? {
    for _ in 0..<Registry.attempts {
      guard let item = try await item(Registry.webhookID(name)),
        var webhook = PayloadCoding.value(Webhook.self, item.payload), body(&webhook)
      else { return nil }
      var next = item
      next.payload = PayloadCoding.text(webhook)
      if try await write([.replaceItem(next, expecting: item.revision)] + more, []) { return webhook }
    }
    throw Registry.contention
  }
}

extension Registry {
  /// Claims a webhook for one server, until its lease passes. Returns `nil` if another server has it.
  package func claimWebhook(_ name: String, until lease: UnixTime, now: UnixTime) async throws(RegistryError)
    -> Webhook?
  {
    var source = source
    let mark = Base64URL.encode(randomBytes(9, from: &source))
    return try await changeWebhook(name) { webhook in
      guard webhook.leasedUntil.map({ $0 <= now }) ?? true else { return false }
      (webhook.lease, webhook.leasedUntil) = (mark, lease)
      return true
    }
  }

  /// Stores what became of a wave, and of a test, in one write.
  ///
  /// - Parameters:
  ///   - webhook: as it was claimed, or as this returned it.
  ///   - lease: `nil` if the server stops delivering.
  /// - Returns: the webhook; `nil` if it is not this server's any more. Then another server, or this one later, sends the wave again.
  package func finish(
    _ wave: WebhookWave, _ outcomes: [WebhookWave.Outcome], test: (id: String, failure: WebhookFailure?)?,
    of webhook: Webhook, until lease: (Webhook) -> UnixTime?, now: UnixTime
  ) async throws(RegistryError) -> (webhook: Webhook, letters: [DeadLetter])? {
    let spread = Double(random() >> 11) / Double(1 << 53) * 0.5 + 0.5
    var noted = webhook
    let letters = noted.note(outcomes, of: wave, at: now, spread: spread)
    if let test { noted.noteTest(test.failure, at: now) }
    let items = letters.map { letter -> RegistryChange in
      .putItem(
        StoredItem(
          id: StoredItemID(.deadLetter, webhook.name, String(letter.event.rawValue)), kind: .deadLetter,
          subject: Registry.letters(webhook.name), payload: PayloadCoding.text(letter), createdAt: now,
          expiresAt: now.advanced(by: limits.retention)))
    }
    let stored = try await changeWebhook(webhook.name, with: items) { webhook in
      guard webhook.lease == noted.lease else { return false }
      let (signer, previous, asked) = (webhook.signer, webhook.previousSigner, webhook.test)
      webhook = noted
      // An administrator may have changed these meanwhile.
      (webhook.signer, webhook.previousSigner) = (signer, previous)
      webhook.test = asked == test?.id ? nil : asked
      webhook.leasedUntil = lease(webhook)
      if webhook.leasedUntil == nil { webhook.lease = "" }
      return true
    }
    return stored.map { ($0, letters) }
  }
}
