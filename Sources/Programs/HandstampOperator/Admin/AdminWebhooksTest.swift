#if Operator
import ArgumentParser
import HandstampCommandLine
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
