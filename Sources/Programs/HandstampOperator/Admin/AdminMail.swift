#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

struct AdminMail: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mail", abstract: "try whether the server's mails arrive", subcommands: [Test.self])

  struct Test: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "test", abstract: "have the server send a test mail, and show what came of it")

    @Argument(help: "email address") var email: String
    @Option(help: "language of the mail, such as de (default: en)") var language: String?
    @OptionGroup var options: AdminOptions

    /// Longer than the five seconds until the server looks, and an attempt.
    private static let patience = Duration.seconds(60)

    func run() async throws {
      try await options.administering { administration in
        let id = try await administration.testMail(to: email, in: language)
        let deadline = ContinuousClock.now + Test.patience
        while ContinuousClock.now < deadline {
          guard let job = try await administration.waitingTest(id) else {
            return Terminal.say("the server has handed it over; look into the mailbox, or the mail folder")
          }
          if let failure = job.tries.failure {
            throw CommandError(
              .failure, "the server could not send it: \(failure.onOneLine)",
              hint: "correct the server's settings for mails, and run this again", code: "mail_failed")
          }
          try await Task.sleep(for: .milliseconds(500))
        }
        throw CommandError(
          .failure, "the server has not sent it yet", hint: "start handstamp-server serve; it sends the mail then")
      }
    }
  }
}
#endif
