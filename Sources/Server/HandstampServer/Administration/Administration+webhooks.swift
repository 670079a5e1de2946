#if Server
public import HandstampCore
public import HandstampRegistry

extension Administration {
  /// A webhook with what became of its messages.
  public struct WebhookState: Sendable, Hashable {
    public let webhook: Webhook
    /// How many events the receiver is still to be told of, of all kinds.
    public let backlog: Int64
    /// The events that it has not taken for a day, the oldest first.
    public let deadLetters: [DeadLetter]
    /// `active`; `gone` if the receiver said so; `unsent` if this server, or its build, sends none.
    package let state: String
  }

  /// Returns the webhooks, the oldest first.
  public func webhooks() async throws(AdministrationError) -> [WebhookState] {
    let newest = try await ask(try await registry.lastEventID())
    var states: [WebhookState] = []
    for webhook in try await ask(try await registry.webhooks()) {
      let letters = try await ask(try await registry.deadLetters(of: webhook.name))
      let state = !sendsWebhooks ? "unsent" : webhook.isGone ? "gone" : "active"
      states.append(
        WebhookState(
          webhook: webhook, backlog: webhook.backlog(newest: newest), deadLetters: letters, state: state))
    }
    return states
  }

  /// Adds a receiver, which is told of events from now on.
  ///
  /// - Returns: the secret of its signatures, as receivers are given it; `nil` for security event tokens. It is never shown again.
  /// - Throws: ``AdministrationError/invalidWebhook(_:)``, ``AdministrationError/webhookExists``,
  ///   ``AdministrationError/tooManyWebhooks``, ``AdministrationError/webhooksNotSent``.
  public func addWebhook(_ settings: Webhook.Settings) async throws(AdministrationError) -> Secret? {
    guard sendsWebhooks else { throw .webhooksNotSent }
    guard settings.hasValidName else { throw .invalidWebhook("name") }
    guard settings.address != nil else { throw .invalidWebhook("url") }
    guard settings.audience.map({ (1...1024).contains($0.utf8.count) }) ?? true else {
      throw .invalidWebhook("audience")
    }
    guard try await ask(try await registry.webhooks()).count < Registry.mostWebhooks else { throw .tooManyWebhooks }
    guard let added = try await ask(try await registry.addWebhook(settings, now: now())) else { throw .webhookExists }
    return secret(of: added)
  }

  /// Removes a webhook. A message that is being sent may still arrive.
  public func removeWebhook(_ name: String) async throws(AdministrationError) {
    guard try await ask(try await registry.removeWebhook(name, now: now())) else { throw .webhookNotFound }
  }

  /// Gives a webhook another secret, made with the current master key. For a day messages have a signature by the previous one as well.
  ///
  /// - Returns: as ``addWebhook(_:)``.
  public func renewWebhookSecret(_ name: String) async throws(AdministrationError) -> Secret? {
    let renewed = try await ask(try await registry.renewSecret(ofWebhook: name, now: now()))
    guard let renewed else { throw .webhookNotFound }
    return secret(of: renewed)
  }

  /// Sends events again: those from `first` on, or with `nil` at once those that wait for another attempt. Also a receiver that was gone
  /// is told again.
  public func replayWebhook(_ name: String, from first: EventID? = nil) async throws(AdministrationError) {
    guard sendsWebhooks else { throw .webhooksNotSent }
    guard try await ask(try await registry.restartWebhook(name, from: first, now: now())) != nil else {
      throw .webhookNotFound
    }
  }

  /// Has the server send a test message, within a second or two. Its result is that of the webhook's last attempt, once
  /// ``Webhook/test`` is `nil` again.
  ///
  /// - Returns: the ID of the message.
  @discardableResult
  public func testWebhook(_ name: String) async throws(AdministrationError) -> String {
    guard sendsWebhooks else { throw .webhooksNotSent }
    guard let id = try await ask(try await registry.testWebhook(name)) else { throw .webhookNotFound }
    return id
  }

  private func secret(of webhook: Webhook) -> Secret? {
    guard webhook.settings.format == .standard else { return nil }
    return registry.mint.secret(of: webhook, by: webhook.signer).map { WebhookSigner.text(of: $0) }
  }
}
#endif
