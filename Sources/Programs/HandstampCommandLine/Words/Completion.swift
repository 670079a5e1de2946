#if Command
package import ArgumentParser

/// The script by which a shell completes the commands of a program.
package struct Completion<Root: ParsableCommand>: ParsableCommand {
  package static var configuration: CommandConfiguration {
    let name = Root.configuration.commandName ?? ""
    return CommandConfiguration(
      commandName: "completion", abstract: "print what makes a shell complete the commands and options",
      discussion: """
        the packages install these; otherwise, for the shell in use:

          source <(\(name) completion bash)
          source <(\(name) completion zsh)
          \(name) completion fish | source
        """)
  }

  @Argument(help: "bash, zsh or fish") private var shell: CompletedShell

  package init() {}

  package func run() {
    let parser: CompletionShell =
      switch shell {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    let script = Root.completionScript(for: parser)
    // It is sourced, so a first line that names an interpreter is of no use.
    Terminal.out(script.hasPrefix("#!") ? String(script.drop { !$0.isNewline }.dropFirst()) : script)
  }
}

private enum CompletedShell: String, ExpressibleByArgument, CaseIterable { case bash, zsh, fish }
#endif
