#if Command
package import ArgumentParser
package import HandstampSupport

/// The program that runs: `handstamp`, or `handstamp-server`.
package enum CommandProgram {
  private static let running = Locked("handstamp")

  /// Its name, as refusals and hints say it.
  package static var name: String { running.withLock { $0 } }

  /// Its version, with the parts that its build lacks.
  ///
  /// - Parameter name: of the program; its root command is not known before its configuration is.
  package static func version(of name: String) -> String {
    version + (BuildPart.words(without: BuildPart.unbuilt, in: name).map { " (\($0))" } ?? "")
  }

  /// Runs the command of `root` that the program's arguments name, and exits with the matching code if it fails.
  ///
  /// - Parameters:
  ///   - bare: Commands without arguments, by their names. They are not parsed, which would take a third of the time of a short one.
  ///   - check: Throws the refusal of arguments that are not to be parsed.
  ///   - begin: Called when they are parsed, before the command runs.
  ///   - explain: Returns the refusal with the hint that fits this machine.
  ///   - conclude: Called before the program ends, whether it failed or not.
  package static func run<Root: AsyncParsableCommand>(
    _ root: Root.Type, bare: [String: () async throws -> Void] = [:],
    check: (ProgramArguments) throws(CommandError) -> Void,
    begin: (ProgramArguments) throws(CommandError) -> Void = { _ in },
    explain: (CommandError) async -> CommandError = { $0 }, conclude: () -> Void = {}
  ) async {
    Inheritance.remember()
    running.withLock { $0 = root.configuration.commandName ?? $0 }
    let arguments = ProgramArguments(CommandLine.arguments)
    do {
      try ResourceLimits.arrange()
      try check(arguments)
      if let perform = bare[arguments.words.joined(separator: " ")] {
        try begin(arguments)
        try await perform()
      } else {
        try NamedCommand(in: arguments.words, of: root).check()
        var command = try await root.asyncParseAsRoot(arguments.words)
        try begin(arguments)
        if var command = command as? any AsyncParsableCommand {
          try await command.run()
        } else {
          try command.run()
        }
      }
      if let refusal = Terminal.outputFailure { throw refusal }
      conclude()
    } catch {
      let refusal = await explain(CommandProgram.refused(error, root, arguments.words))
      Terminal.say(refusal)
      conclude()
      root.exit(withError: ExitCode(refusal.exit.rawValue))
    }
  }

  /// Returns the refusal of a command that has failed. Exits after help, which the parser throws as well.
  private static func refused<Root: AsyncParsableCommand>(
    _ error: any Error, _ root: Root.Type, _ arguments: [String]
  ) -> CommandError {
    // The program is about to end: no other one gets that width.
    Terminal.widen()
    switch error {
    case let error as CommandError: return error
    case is CancellationError: return .cancelled
    default:
      let code = root.exitCode(for: error)
      if code == .success || code != .validationFailure { root.exit(withError: error) }
      let lacksDashes = arguments.first == "exec" && !arguments.contains("--")
      return CommandError(
        .usage, plain(root.message(for: error)),
        hint: (lacksDashes ? "put -- before the program; " : "")
          + "see: \(NamedCommand(in: arguments, of: root).help)")
    }
  }
}

extension CommandError {
  /// The refusal of a part that this build lacks.
  ///
  /// - Parameter place: The option, variable or file that asks for it; `nil` if the part's name says it.
  package init(_ part: BuildPart, at place: String? = nil) {
    self.init(
      .usage, (place.map { "\($0): " } ?? "") + part.refusal, hint: BuildPart.hint(building: CommandProgram.name),
      code: "not_in_build")
  }
}
#endif
