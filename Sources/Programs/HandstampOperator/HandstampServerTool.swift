#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampSupport

/// The `handstamp-server` program: runs and administers session servers, and verifies their tokens for other services.
struct HandstampServerTool: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "handstamp-server",
    abstract: "run a session server, and administer it",
    discussion: """
      data goes to stdout, messages and logs go to stderr; every command that
      reads accepts --json

      secrets are read from stdin, a file or a variable, never from arguments

      environment:
        HTTPS_PROXY        proxy of https URLs; likewise HTTP_PROXY, ALL_PROXY
                           and NO_PROXY
        SSL_CERT_FILE      file in PEM with the authorities to trust

      exit codes:
        0   done
        1   failed
        2   cancelled
        7   the server is not set up correctly
        64  usage error, or a setting that is not valid
      """,
    version: CommandProgram.version(of: "handstamp-server"),
    subcommands: [Serve.self, Admin.self, GateCommand.self, Completion<HandstampServerTool>.self])
}

/// Runs the command that the program's arguments name.
package func runHandstampServer() async {
  await CommandProgram.run(
    HandstampServerTool.self,
    check: { arguments throws(CommandError) in
      guard !arguments.isVerbose else {
        throw CommandError(.usage, "handstamp-server has no --verbose", hint: "set --log-level debug of serve")
      }
      try BuildPart.check(command: NamedCommand(in: arguments.words, of: HandstampServerTool.self).subcommand)
    })
}
#endif
