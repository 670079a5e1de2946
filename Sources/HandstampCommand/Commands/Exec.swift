#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampSupport

/// `handstamp exec`.
struct Exec: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "exec", abstract: "run a program with a valid token in its environment",
    discussion: """
      replaces this process with the program, so that signals and the exit code
      pass straight through; exits 127 if the program is not found, 126 if it
      cannot be run

      the token is only in HANDSTAMP_TOKEN, or in the variable named by --env, and
      is not renewed there; HANDSTAMP_ACCOUNT is set to the account, so that a
      nested handstamp uses the same one
      """)

  @Option(help: "environment variable for the token") var env = EnvironmentToken.name
  @Option(help: "minimum remaining lifetime, e.g. 60s or 5m, or what is left, if the server does not answer")
  var minValidity = Span(.zero)
  @OptionGroup var account: AccountOptions
  @Argument(parsing: .postTerminator, help: "program to run and its arguments, after --") var command: [String] = []

  private func check() throws(CommandError) {
    guard command.first?.isEmpty == false else {
      throw CommandError(.usage, "missing program", hint: "run: handstamp exec -- CMD ARGS")
    }
    let isName = env.utf8.allSatisfy { $0 == 95 || $0.isAlphanumeric }
    guard isName, let first = env.utf8.first, !first.isDigit else {
      throw CommandError(.usage, "invalid variable name", hint: "use letters, digits and _, with a letter or _ first")
    }
  }

  func run() async throws {
    try check()
    let (token, name) = try await token()
    // The other program replaces this one, so nothing can be done later.
    await PendingEnds.deliver()
    try Replacement(
      command: command, variables: [env: token.secret, EnvironmentAccount.name: name].compactMapValues { $0 }
    )
    .run()
  }

  private func token() async throws(CommandError) -> (AccessToken, Secret?) {
    if let token = EnvironmentToken.current {
      if account.account != nil { try EnvironmentToken.refuse(to: "--account") }
      return (token, nil)
    }
    let client = try await AccountClient.chosen(account)
    let token = try await client.token(minimumValidity: minValidity.duration)
    // The other program replaces this one; anything kept only in memory would be lost.
    guard await client.controller.waitForRefresh() else {
      throw CommandError(
        .vault, "cannot save the new tokens, and running the program now would lose them",
        hint: "free disk space where the vault is, then run the same command again")
    }
    return (token, Secret(client.account.id.rawValue))
  }
}
#endif
