#if Command
import ArgumentParser
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

    struct Answer: Document {
      struct Item: Encodable {
        var name: String
        var url: String
        var format: String
        var events: [String]
        var allowPrivate: Bool
        var state: String
        var backlog: Int64
        var heldAccounts: Int
        var delivered: Int64
        var deadLetters: Int
        var lastSuccessAt: String?
        var lastFailureAt: String?
        var lastFailure: String?
      }
      var webhooks: [Item]
    }

    func run() async throws {
      let items = try await options.webhooks().map { state in
        let (webhook, settings) = (state.webhook, state.webhook.settings)
        return Answer.Item(
          name: settings.name, url: settings.url, format: settings.format.rawValue,
          events: settings.events.map(\.rawValue).sorted(), allowPrivate: settings.allowsPrivate,
          state: webhook.isGone ? "gone" : "active", backlog: state.backlog, heldAccounts: webhook.held,
          delivered: webhook.delivered, deadLetters: state.deadLetters.count,
          lastSuccessAt: webhook.lastSuccessAt?.description, lastFailureAt: webhook.lastFailureAt?.description,
          lastFailure: webhook.failure)
      }
      if output.json { return Answer(webhooks: items).writeLine() }
      let rows = items.map { item in
        [
          item.name, item.url, item.state, "\(item.backlog)", "\(item.deadLetters)", item.lastSuccessAt ?? "",
          item.lastFailureAt ?? "", item.lastFailure ?? "",
        ]
      }
      let head = ["NAME", "URL", "STATE", "BACKLOG", "DEAD", "SUCCESS", "FAILURE", "WHY"]
      Table(rows: [head] + rows).write()
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
      SecretAnswer(name: name, secret: secret?.withExposed { $0 }).write(output)
    }
  }

  struct Secret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "secret", abstract: "make another secret, and show it once",
      discussion: """
        for a day messages are signed with both, so that the receiver can change;
        do it before the master key that the former was made with is retired
        """)

    @Argument(help: "name of the webhook") var name: String
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let secret = try await options.administering { try await $0.renewWebhookSecret(name) }
      SecretAnswer(name: name, secret: secret?.withExposed { $0 }).write(output)
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

  private struct SecretAnswer: Document {
    var name: String
    /// `nil` for security event tokens.
    var secret: String?

    func write(_ output: OutputOptions) {
      if output.json { return writeLine() }
      guard let secret else { return Terminal.say("the tokens are signed with the server's keys") }
      Terminal.out(secret)
      Terminal.say("the secret is not shown again")
    }
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
#endif
