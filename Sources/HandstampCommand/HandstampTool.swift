#if Command
import ArgumentParser
import HandstampSupport

/// The `handstamp` program: signs the user in at a terminal and supplies valid access tokens.
struct HandstampTool: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "handstamp",
    abstract: "sign in, stay signed in, and get valid access tokens",
    discussion: """
      data goes to stdout, messages go to stderr; every command that reads
      accepts --json

      secrets are read from stdin or a prompt, never from arguments

      --verbose, before --, writes one line to stderr for each decision of the
      session, without secrets

      environment:
        HANDSTAMP_HOME     folder for the vaults, locks and settings (default:
                           $XDG_STATE_HOME/handstamp, which is
                           ~/.local/state/handstamp unless set)
        HANDSTAMP_ACCOUNT  account to use instead of the folder's or the active
                           one; --account takes precedence
        HANDSTAMP_TOKEN    access token to use instead of the session's; never
                           stored
        HANDSTAMP_AGENT    socket of a handstamp agent to ask for tokens in place
                           of a session
        HANDSTAMP_PASSPHRASE_FILE
                           file, readable by its owner only, with the passphrase
                           of the vaults in its first line
        HTTPS_PROXY        proxy of https URLs; likewise HTTP_PROXY, ALL_PROXY
                           and NO_PROXY; login has options for one account
        SSL_CERT_FILE      file in PEM with the authorities to trust

      exit codes:
        0   done
        1   failed
        2   cancelled
        4   sign-in needed
        5   vault locked or unavailable
        6   no answer from the server; try again later
        7   the client or the server is not set up correctly
        64  usage error
        126, 127  the program given to exec cannot be run, or was not found
      """,
    version: version + (BuildPart.words(without: BuildPart.unbuilt).map { " (\($0))" } ?? ""),
    subcommands: [
      Signup.self, Login.self, AccountsCommand.self, Switch.self, Status.self, Token.self, Refresh.self, Exec.self,
      CredentialHelper.self, AgentCommand.self, MCPCommand.self, Watch.self,
      Request.self, Sessions.self, Revoke.self, Logout.self, Audit.self, Key.self, Doctor.self, Completion.self,
      Serve.self, GateCommand.self, Admin.self,
    ])

  /// Prints the error and its hint, then exits with the matching code.
  fileprivate static func leave(_ error: any Error, _ arguments: [String]) async -> Never {
    var refusal: CommandError
    // The program is about to end: no other one gets that width.
    Terminal.widen()
    switch error {
    case let error as CommandError: refusal = error
    case is CancellationError: refusal = CommandError(.cancelled, "cancelled", hint: "run the same command again")
    default:
      let code = exitCode(for: error)
      if code == .success || code != .validationFailure { exit(withError: error) }
      let lacksDashes = arguments.first == "exec" && !arguments.contains("--")
      refusal = CommandError(
        .usage, plain(message(for: error)),
        hint: (lacksDashes ? "put -- before the program; " : "") + "see: \(NamedCommand(in: arguments).help)")
    }
    if let home = try? Home.current().withNotedKey { refusal = await refusal.explained(in: home) }
    Terminal.say(refusal)
    Interruption.conclude()
    exit(withError: ExitCode(refusal.exit.rawValue))
  }
}

/// Runs the command that the program's arguments name.
package func runHandstamp() async {
  Inheritance.remember()
  let arguments = ProgramArguments(CommandLine.arguments)
  if arguments.isVerbose { Verbosity.turnOn() }
  do {
    try ResourceLimits.arrange()
    try NamedCommand(in: arguments.words).check()
    var command = try await HandstampTool.asyncParseAsRoot(arguments.words)
    // Those who run a server have no use for it.
    if !["serve", "admin", "gate"].contains(arguments.words.first) { try EnvironmentToken.check() }
    if var command = command as? any AsyncParsableCommand {
      try await command.run()
    } else {
      try command.run()
    }
    if let refusal = Terminal.outputFailure { throw refusal }
    Interruption.conclude()
  } catch {
    await HandstampTool.leave(error, arguments.words)
  }
}
#endif
