#if Programs
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

@Suite(.timeLimit(.minutes(10))) struct `handstamp-server admin mail test` {
  private func run(_ email: String, _ folder: String) async throws {
    try await AdminMail.Test.parse([email, "--language", "de", "--data", folder]).run()
  }

  @Test(arguments: [nil, "the mail server refused it with 550"])
  func `ends when the server has handed the mail over, or says why it could not`(failure: String?) async throws {
    try await ProcessFixture.inFolder { folder in
      let settings = try ServeSettings(flags: ["data": folder], environment: [:], file: nil)
      let (store, keys) = try await settings.openDatabase()
      let wrong = try await #require(throws: CommandError.self) { try await run("ada", folder) }
      #expect(!wrong.hint.isEmpty)
      let running = Task { try await run("ada@example.org", folder) }
      // As the server does it.
      let registry = Registry(store: store, mint: TokenMint(keys.master))
      let waiting = try await eventually {
        try await registry.dueJobs(MailJob.self, at: .systemTime, limit: 1).first
      }
      let item = try #require(waiting)
      let lease = UnixTime.systemTime.advanced(by: .seconds(60))
      let mail = try #require(
        try await registry.claim(item, as: MailJob.self, until: lease, now: .systemTime))
      #expect(mail.job.kind == .test && mail.job.email == EmailAddress("ada@example.org"))
      #expect(mail.job.language == "de")
      if let failure {
        try await registry.fail(mail, because: failure, until: nil)
        let refusal = try await #require(throws: CommandError.self) { try await running.value }
        #expect(refusal.code == "mail_failed" && refusal.message.contains(failure))
      } else {
        try await registry.finish(mail, interval: .seconds(60), now: .systemTime)
        try await running.value
      }
      try store.close()
    }
  }
}
#endif
