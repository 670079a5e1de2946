#if Programs
import ArgumentParser
import Foundation
import Handstamp
import HandstampCore

/// `handstamp exec`.
struct Exec: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "runs a program with a fresh token in its environment",
    discussion: """
      becomes the program itself, so that signals and its exit code go straight through; 127 when there is none of that
      name, 126 when it cannot be run
      the token is in HANDSTAMP_TOKEN, or the variable that --env names, and nowhere else; it is not renewed there.
      HANDSTAMP_ACCOUNT names the account, so that a handstamp that the program runs means the same one
      """)

  @Option(help: "the variable for the token") var env = EnvironmentToken.name
  @Option(help: "how long it must last yet, such as 60s or 5m") var minValidity = Span(.zero)
  @OptionGroup var account: AccountOptions
  @Argument(parsing: .postTerminator, help: "the program and its arguments, after --") var command: [String] = []

  private func check() throws(Refusal) {
    guard command.first?.isEmpty == false else {
      throw Refusal(.usage, "there is no program to run", hint: "write it as: handstamp exec -- CMD ARGS")
    }
    let isName = env.utf8.allSatisfy { $0 == 95 || (48...57).contains($0) || (65...90).contains($0 & 0xDF) }
    guard isName, let first = env.utf8.first, !(48...57).contains(first) else {
      throw Refusal(.usage, "this is no name of a variable", hint: "letters, digits and _ make one")
    }
  }

  func run() async throws {
    try check()
    let (token, name) = try await token()
    // Nothing of this program comes after the other one.
    await PendingEnds.deliver()
    try Replacement(
      command: command, variables: [env: token.secret, EnvironmentAccount.name: name].compactMapValues { $0 }
    )
    .run()
  }

  private func token() async throws(Refusal) -> (AccessToken, Secret?) {
    if let token = EnvironmentToken.current {
      if account.account != nil { try EnvironmentToken.refuse(to: "--account") }
      return (token, nil)
    }
    let client = try await Client.chosen(account)
    let token = try await client.token(minimumValidity: minValidity.duration)
    // The other program takes this one's place, and with it what is in memory alone.
    guard await client.controller.refreshSettled() else {
      throw Refusal(
        .vault, "the new tokens cannot be written down, and would be lost with this program",
        hint: "make room where the vault is, and run the same command again")
    }
    return (token, Secret(client.account.id.rawValue))
  }
}
#endif
