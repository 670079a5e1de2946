#if Command
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampSupport
import Logging

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
    version: CommandProgram.version(of: "handstamp"),
    subcommands: [
      Signup.self, Login.self, AccountsCommand.self, Switch.self, Status.self, Token.self, Refresh.self, Exec.self,
      CredentialHelper.self, AgentCommand.self, MCPCommand.self, Watch.self,
      Request.self, Sessions.self, Revoke.self, Logout.self, Audit.self, Key.self, Doctor.self,
      Completion<HandstampTool>.self,
    ])
}

/// Runs the command that the program's arguments name.
package func runHandstamp() async {
  ResourceLimits.shareArena()
  await CommandProgram.run(
    HandstampTool.self, bare: ["token": Token.printCurrent],
    check: { arguments throws(CommandError) in
      if arguments.isVerbose { Verbosity.turnOn() }
      try OperatorsCommand.refuse(arguments.words)
    },
    begin: { _ throws(CommandError) in try EnvironmentToken.check() },
    explain: { refusal in
      guard let home = try? Home.current().withNotedKey else { return refusal }
      return await refusal.explained(in: home)
    },
    conclude: Interruption.conclude)
}

/// `--verbose`: one line on stderr for each decision of a session. For all commands.
enum Verbosity {
  private static let isOn = Locked(false)

  static func turnOn() { isOn.withLock { $0 = true } }

  /// The logger of sessions; `nil` without `--verbose`.
  static var logger: Logger? {
    guard isOn.withLock({ $0 }) else { return nil }
    var logger = Logger(label: "handstamp") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .debug
    return logger
  }
}

/// The commands of those who run a server, which are those of another program.
enum OperatorsCommand: String, CaseIterable {
  case serve, admin, gate

  /// - Parameter words: The arguments of this program.
  /// - Throws: A refusal that says how to run them there, if they name one.
  static func refuse(_ words: [String]) throws(CommandError) {
    guard let name = words.first(where: { $0 != "help" }), OperatorsCommand(rawValue: name) != nil else { return }
    throw CommandError(
      .usage, "\(name) is a command of handstamp-server",
      hint: "run: " + (["handstamp-server"] + words.map { shellWord($0.onOneLine) }).joined(separator: " "))
  }
}
#endif
