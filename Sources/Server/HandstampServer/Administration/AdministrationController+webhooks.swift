#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/admin/v1/webhooks`.
extension AdministrationController {
  func addWebhookRoutes(to routes: AdministrationRoutes<some SessionRequestContext>) {
    routes.on(.get, "webhooks") { _, _, administration in
      .json("webhooks", try await administration.webhooks().map(\.described))
    }
    // Adds a receiver. The response has its secret, which is never shown again.
    routes.on(.post, "webhooks") { request, _, administration in
      let settings = try await request.json(upTo: limits.bodySize).webhook()
      return .webhookSecret(try await administration.addWebhook(settings))
    }
    routes.on(.delete, "webhooks/:name") { _, context, administration in
      try await administration.removeWebhook(try context.decoded("name"))
      return .nothing
    }
    // Makes another secret; the previous one signs for another day.
    routes.on(.post, "webhooks/:name/secret") { _, context, administration in
      .webhookSecret(try await administration.renewWebhookSecret(try context.decoded("name")))
    }
    // Sends events again, those from `from` on.
    routes.on(.post, "webhooks/:name/replay") { request, context, administration in
      let first = try await request.optionalJSON(upTo: limits.bodySize)?.event("from")
      try await administration.replayWebhook(try context.decoded("name"), from: first)
      return .nothing
    }
    // Has a test message sent.
    routes.on(.post, "webhooks/:name/test") { _, context, administration in
      let id = try await administration.testWebhook(try context.decoded("name"))
      return .json(JSONText([("id", id)]), status: .accepted)
    }
  }
}

extension JSONFields {
  /// The settings of a new webhook.
  fileprivate func webhook() throws(ProblemError) -> Webhook.Settings {
    let format = try optionalText("format").map { Webhook.Format(rawValue: $0) } ?? .standard
    guard let format else { throw .invalidRequest("format: must be standard or set.") }
    var events: Set<WebhookEvent> = []
    for name in try texts("events") {
      guard let event = WebhookEvent(rawValue: name) else { throw .invalidRequest("events: no such event.") }
      events.insert(event)
    }
    return Webhook.Settings(
      name: try text("name"), url: try text("url"), events: events, format: format,
      audience: try optionalText("audience"), allowsPrivate: try optionalFlag("allow_private"))
  }

  /// The ID of an event; `nil` if the field is missing.
  fileprivate func event(_ name: String) throws(ProblemError) -> EventID? {
    guard contains(name) else { return nil }
    let number = try integer(name)
    guard number > 0 else { throw .invalidRequest("\(name): not an event.") }
    return EventID(rawValue: number)
  }
}

extension Response {
  fileprivate static func webhookSecret(_ secret: Secret?) -> Response {
    var json = JSONText()
    json.add("secret", ifPresent: secret?.withExposed { $0 })
    return .json(json, status: .created)
  }
}

extension Administration.WebhookState {
  /// The webhook as administrators see it.
  fileprivate var described: JSONText {
    var json = JSONText()
    let settings = webhook.settings
    json.add("name", settings.name)
    json.add("url", settings.url)
    json.add("format", settings.format.rawValue)
    json.add("events", settings.events.map(\.rawValue).sorted())
    json.add("audience", ifPresent: settings.audience)
    json.add("allow_private", settings.allowsPrivate)
    json.add("state", state)
    json.add("position", webhook.cursor.rawValue)
    json.add("backlog", backlog)
    json.add("held_accounts", Int64(webhook.held))
    json.add("delivered", webhook.delivered)
    json.add("last_success_at", ifPresent: webhook.lastSuccessAt?.description)
    json.add("last_failure_at", ifPresent: webhook.lastFailureAt?.description)
    json.add("last_failure", ifPresent: webhook.failure)
    json.add("test", ifPresent: webhook.test)
    json.add(
      "dead_letters",
      deadLetters.map { letter in
        var json = JSONText()
        json.add("event", letter.event.rawValue)
        json.add("type", letter.type.rawValue)
        json.add("account", letter.account.rawValue)
        json.add("session", ifPresent: letter.session?.rawValue)
        json.add("failure", letter.failure)
        json.add("given_up_at", letter.givenUpAt.description)
        return json
      })
    return json
  }
}
#endif
