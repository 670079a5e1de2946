#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

struct AdminWebhooks: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "webhooks", abstract: "tell other programs when sessions begin and end",
    discussion: """
      the server posts each event to a URL, signed, at least once, and those of a
      session in order; one that is not taken is tried again for a day
      """,
    subcommands: [List.self, Add.self, Remove.self, Secret.self, Replay.self, Test.self, DeadLetters.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "list the webhooks, with what is still to be sent, and the last failure")

    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      output.write(
        "webhooks", try await options.webhooks(),
        [
          Column("name", as: "NAME", \.webhook.settings.name),
          Column("url", as: "URL", \.webhook.settings.url),
          Column("format", \.webhook.settings.format.rawValue),
          Column("events") { $0.webhook.settings.events.map(\.rawValue).sorted() },
          Column("allowPrivate", \.webhook.settings.allowsPrivate),
          Column("state", as: "STATE", \.state),
          Column("backlog", as: "BACKLOG", \.backlog),
          Column("heldAccounts", \.webhook.held),
          Column("delivered", \.webhook.delivered),
          Column("deadLetters", as: "DEAD", \.deadLetters.count),
          Column("lastSuccessAt", as: "SUCCESS", none: "", \.webhook.lastSuccessAt?.description),
          Column("lastFailureAt", as: "FAILURE", none: "", \.webhook.lastFailureAt?.description),
          Column("lastFailure", as: "WHY", none: "", \.webhook.failure),
        ])
    }
  }

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "add a receiver, and show the secret of its signatures once",
      discussion: """
        it is told of events from now on; security event tokens (--as set) are
        signed with the server's keys and need no secret
        """)

    @Argument(help: "name: lower-case letters, digits and -") var name: String
    @Argument(help: "URL, https") var url: String
    @Option(
      name: .customLong("event"),
      help: "event, such as session.ended; may be repeated (default: all)") var events: [String] = []
    @Option(name: .customLong("as"), help: "standard (Standard Webhooks) or set (security event tokens)")
    var format = "standard"
    @Option(help: "audience of security event tokens (default: the URL)") var audience: String?
    @Flag(help: "allow a host with a private address, and http") var allowPrivate = false
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      guard let format = Webhook.Format(rawValue: format) else {
        throw CommandError(.usage, "no form \(format.onOneLine)", hint: "use --as standard or --as set")
      }
      let events = try events.map { name throws(CommandError) in
        guard let event = WebhookEvent(rawValue: name) else {
          throw CommandError(
            .usage, "no event \(name.onOneLine)",
            hint: "use one of " + WebhookEvent.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return event
      }
      let settings = Webhook.Settings(
        name: name, url: url, events: Set(events), format: format, audience: audience, allowsPrivate: allowPrivate)
      let secret = try await options.administering { try await $0.addWebhook(settings) }
      output.write(secret, of: name)
    }
  }

  struct Secret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "secret", abstract: "make another secret, and show it once",
      discussion: """
        for a day messages are signed with both, so that the receiver can change;
        do it before the master key that the previous one was made with is retired
        """)

    @Argument(help: "name of the webhook") var name: String
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let secret = try await options.administering { try await $0.renewWebhookSecret(name) }
      output.write(secret, of: name)
    }
  }

  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "remove a webhook and its dead letters")

    @Argument(help: "name of the webhook") var name: String
    @OptionGroup var options: AdminOptions

    func run() async throws {
      try await options.administering { try await $0.removeWebhook(name) }
      Terminal.say("removed \(name)")
    }
  }

  struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "replay", abstract: "send events again, or tell a receiver again that was gone",
      discussion: """
        without --from, those that wait are tried at once; with it, that event and
        all later ones are sent again, with the same IDs
        """)

    @Argument(help: "name of the webhook") var name: String
    @Option(help: "number of the first event, as in data.event of messages") var from: Int64?
    @OptionGroup var options: AdminOptions

    func run() async throws {
      guard from.map({ $0 > 0 }) ?? true else {
        throw CommandError(.usage, "not an event: \(from ?? 0)", hint: "events are numbered from 1")
      }
      try await options.administering { try await $0.replayWebhook(name, from: from.map { EventID(rawValue: $0) }) }
      Terminal.say("restarted \(name)")
    }
  }
}

extension OutputOptions {
  /// Prints the secret of a webhook; `nil` for security event tokens.
  fileprivate func write(_ secret: HandstampCore.Secret?, of webhook: String) {
    let text = secret?.withExposed { $0 }
    if json { return Terminal.out(json: ["name": webhook, "secret": text]) }
    guard let text else { return Terminal.say("the tokens are signed with the server's keys") }
    Terminal.out(text)
    Terminal.say("the secret is not shown again")
  }
}

extension AdminOptions {
  fileprivate func webhooks() async throws(CommandError) -> [Administration.WebhookState] {
    try await administering { try await $0.webhooks() }
  }

  func webhook(_ name: String) async throws(CommandError) -> Administration.WebhookState {
    guard let state = try await webhooks().first(where: { $0.webhook.name == name }) else {
      throw CommandError(AdministrationError.webhookNotFound)
    }
    return state
  }
}

extension AdminWebhooks {
  struct Test: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "test", abstract: "have the server send a test message, and show what came of it")

    @Argument(help: "name of the webhook") var name: String
    @OptionGroup var options: AdminOptions

    /// Longer than an attempt, and than the second until the server looks.
    private static let patience = Duration.seconds(30)

    func run() async throws {
      let id = try await options.administering { try await $0.testWebhook(name) }
      let deadline = ContinuousClock.now + Test.patience
      while ContinuousClock.now < deadline {
        let webhook = try await options.webhook(name).webhook
        guard webhook.test == id else {
          guard let failedAt = webhook.lastFailureAt, failedAt > webhook.lastSuccessAt ?? UnixTime(milliseconds: 0)
          else {
            return Terminal.say("sent \(id)")
          }
          throw CommandError(
            .failure, "the receiver did not take it: \((webhook.failure ?? "").onOneLine)",
            hint: "correct the receiver, or remove the webhook and add it again", code: "webhook_failed")
        }
        try await Task.sleep(for: .milliseconds(500))
      }
      throw CommandError(
        .failure, "the server has not sent it yet",
        hint: "start handstamp-server serve, which sends it then; if it runs, see its log")
    }
  }

  struct DeadLetters: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "dead", abstract: "list the events that a receiver has not taken for a day",
      discussion: "to send them and all later ones again, use replay NAME --from EVENT")

    @Argument(help: "name of the webhook") var name: String
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      output.write(
        "deadLetters", try await options.webhook(name).deadLetters,
        [
          Column("event", as: "EVENT", \.event.rawValue),
          Column("type", as: "TYPE", \.type.rawValue),
          Column("account", as: "ACCOUNT", \.account.rawValue),
          Column("session", as: "SESSION", none: "", \.session?.rawValue),
          Column("givenUpAt", as: "GIVEN UP", \.givenUpAt.description),
          Column("failure", as: "WHY", \.failure),
        ])
    }
  }
}
#endif
