#if Command
import ArgumentParser

struct Completion: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "completion", abstract: "print what makes a shell complete the commands and options",
    discussion: """
      the packages install these; otherwise, for the shell in use:

        source <(handstamp completion bash)
        source <(handstamp completion zsh)
        handstamp completion fish | source
      """)

  enum Shell: String, ExpressibleByArgument, CaseIterable { case bash, zsh, fish }

  @Argument(help: "bash, zsh or fish") var shell: Shell

  func run() {
    let parser: CompletionShell =
      switch shell {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    let script = HandstampTool.completionScript(for: parser)
    // It is sourced, so a first line that names an interpreter is of no use.
    Terminal.out(script.hasPrefix("#!") ? String(script.drop { !$0.isNewline }.dropFirst()) : script)
  }
}
#endif
