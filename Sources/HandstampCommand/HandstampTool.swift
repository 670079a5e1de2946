#if Programs
import ArgumentParser

/// The program `handstamp`: signs someone in at a terminal and hands out tokens that work.
@main
struct HandstampTool: AsyncParsableCommand {
  static let version = "unreleased"

  static let configuration = CommandConfiguration(
    commandName: "handstamp",
    abstract: "signs in, stays signed in, and hands out tokens that work",
    discussion: """
      data goes to stdout, words go to stderr; --json is there on everything that reads
      secrets are read from stdin or at a prompt, never from arguments

      environment:
        HANDSTAMP_HOME    the folder of vault, locks and settings, together (default: $XDG_STATE_HOME/handstamp,
                          which is ~/.local/state/handstamp unless set)
        HANDSTAMP_ACCOUNT the account to use, whichever is set for the folder or the active one; --account comes before it
        HANDSTAMP_TOKEN   an access token that is used instead of the session's, and never stored
        HANDSTAMP_PASSPHRASE_FILE a file for its owner alone, with the passphrase that opens the vaults in its first line

      exit codes:
        0   done
        1   failed
        2   cancelled
        4   sign-in needed
        5   the vault is locked or cannot be used
        6   no answer from the server, try again later
        64  wrong usage
        126, 127  what exec was to run cannot be run, or is not there
      """,
    version: version,
    subcommands: [
      Signup.self, Login.self, Accounts.self, Switch.self, Status.self, Token.self, Refresh.self, Exec.self,
      CredentialHelper.self, Watch.self,
      Request.self, Sessions.self, Revoke.self, Logout.self, Audit.self, Store.self, Doctor.self, Serve.self, Tour.self,
    ])

  static func main() async {
    Inheritance.remember()
    let arguments = CredentialHelper.arranged(
      Array(CommandLine.arguments.dropFirst()), program: CommandLine.arguments.first ?? "")
    do {
      var command = try await asyncParseAsRoot(Revoke.arranged(arguments))
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      await leave(error)
    }
  }

  /// What explains the command that was meant.
  private static var help: String {
    let known = configuration.subcommands.compactMap { $0.configuration.commandName ?? "\($0)".lowercased() }
    let meant = CommandLine.arguments.dropFirst().first { known.contains($0) }
    return meant.map { "handstamp \($0) --help" } ?? "handstamp --help"
  }

  /// Says what went wrong and ends the program with the code for it.
  private static func leave(_ error: any Error) async -> Never {
    var refusal: Refusal
    switch error {
    case let error as Refusal: refusal = error
    case is CancellationError: refusal = Refusal(.cancelled, "cancelled", hint: "run the same command again")
    default:
      let code = exitCode(for: error)
      if code == .success || code != .validationFailure { exit(withError: error) }
      refusal = Refusal(.usage, plain(message(for: error)), hint: "see: \(help)")
    }
    if let home = try? Home.current() { refusal = await refusal.explained(in: home) }
    Terminal.say("handstamp: \(refusal.message)")
    Terminal.say("hint: \(refusal.hint)")
    exit(withError: ExitCode(refusal.code.rawValue))
  }
}
#else
import Foundation
import HandstampCore

/// The program of a build without traits.
@main struct HandstampTool {
  static func main() {
    let text = "handstamp: this build has no commands\nhint: swift build --enable-all-traits --product handstamp\n"
    FileHandle.standardError.write(Data(text.utf8))
    exit(1)
  }
}
#endif
