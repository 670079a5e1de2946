#if Command
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampServer

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
        .failure, "the server has not sent it yet", hint: "start handstamp serve; it sends the message then")
    }
  }

  struct DeadLetters: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "dead", abstract: "list the events that a receiver has not taken for a day",
      discussion: "to send them and all later ones again, use replay NAME --from EVENT")

    @Argument(help: "name of the webhook") var name: String
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      struct Item: Encodable {
        var event: Int64
        var type: String
        var account: String
        var session: String?
        var failure: String
        var givenUpAt: String
      }
      var deadLetters: [Item]
    }

    func run() async throws {
      let items = try await options.webhook(name).deadLetters.map {
        Answer.Item(
          event: $0.event.rawValue, type: $0.type.rawValue, account: $0.account.rawValue,
          session: $0.session?.rawValue, failure: $0.failure, givenUpAt: $0.givenUpAt.description)
      }
      if output.json { return Answer(deadLetters: items).writeLine() }
      let rows = items.map { ["\($0.event)", $0.type, $0.account, $0.session ?? "", $0.givenUpAt, $0.failure] }
      let head = ["EVENT", "TYPE", "ACCOUNT", "SESSION", "GIVEN UP", "WHY"]
      Table(rows: [head] + rows).write()
    }
  }
}
#endif
