import HandstampCore

extension Webhook: StoredPayload {
  package var fields: [String: String?] {
    var fields: [String: String?] = [
      "name": settings.name, "url": settings.url, "format": settings.format.rawValue, "audience": settings.audience,
      "events": settings.events.map(\.rawValue).sorted().joined(separator: ","),
      "private": settings.allowsPrivate ? "1" : nil, "id": id, "key": signer.key.rawValue,
      "generation": String(signer.generation), "formerKey": formerSigner?.signer.key.rawValue,
      "formerGeneration": formerSigner.map { String($0.signer.generation) },
      "formerUntil": Webhook.text(formerSigner?.until), "cursor": String(cursor.rawValue),
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
    if let key = fields["formerKey"], let number = fields["formerGeneration"].flatMap({ Int64($0) }),
      let until = fields.time("formerUntil")
    {
      formerSigner = FormerSigner(signer: Signer(key: KeyID(key), generation: number), until: until)
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
