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

/// The words by which people ask for a part. A new part answers here.
extension BuildPart {
  /// The settings of `handstamp-server serve` that need it.
  var settings: [String] {
    switch self {
    case .clientDocuments: ["client-documents"]
    case .https: ["tls-certificate", "tls-key"]
    case .network: ["ca-certificates"]
    case .agentClient, .gate, .webhooks: []
    }
  }

  /// The subcommands that need it.
  var commands: [String] {
    switch self {
    case .gate: ["gate"]
    case .webhooks: ["admin webhooks add", "admin webhooks replay", "admin webhooks test"]
    case .agentClient, .clientDocuments, .https, .network: []
    }
  }

  private static var absent: [BuildPart] { allCases.filter { !$0.isHere } }

  /// - Throws: The refusal of a subcommand that this build lacks.
  static func check(command: String) throws(CommandError) {
    if let part = absent.first(where: { $0.commands.contains(command) }) { throw CommandError(part) }
  }

  /// - Throws: The refusal of a given setting that this build lacks.
  static func check(_ values: SettingValues<ServeSettings>) throws(CommandError) {
    for part in absent {
      if let given = part.settings.compactMap({ values[$0] }).first { throw CommandError(part, at: given.place) }
    }
  }
}
#endif
