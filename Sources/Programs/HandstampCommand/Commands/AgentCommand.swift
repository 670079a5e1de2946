#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampHTTP
import HandstampSupport

struct AgentCommand: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent", abstract: "hand out access tokens over a socket, to containers and remote machines",
    discussion: """
      where HANDSTAMP_AGENT names the socket, token, exec, request and
      credential-helper ask it in place of a vault; other programs ask in HTTP:

        curl --unix-socket PATH 'http://agent/token?min_validity=60s'

      every program that can open the socket gets such tokens, and never the
      refresh token; start an agent for each policy

      prints the path on stdout once it answers, and a line for each token on
      stderr; removes the socket when it ends
      """)

  enum Policy: String, EnumerableFlag {
    case allow, ask

    static func help(for value: Policy) -> ArgumentHelp? {
      switch value {
      case .allow: "hand out tokens without asking"
      case .ask: "ask at the terminal first"
      }
    }
  }

  @Option(help: "path of the socket, in a folder of your own") var socket: String
  @OptionGroup var target: TargetOptions
  @Flag(help: "whether to ask") var policy = Policy.allow
  @Option(help: "program that asks in place of the terminal, such as ssh-askpass: exit status 0 allows")
  var askProgram: String?
  @Option(help: "how long a yes counts") var remember = Span(.seconds(600))
  @Option(
    name: .customLong("allow-uid"),
    help: "another user whose processes get tokens, by number, such as 0 for a container's root (repeatable)")
  var otherUsers: [UInt32] = []
  @Option(name: .customLong("for"), help: "how long to run, e.g. 8h (default: until a signal)") var time: Span?
  @OptionGroup var account: AccountOptions

  private static let socketHint = "use --socket with a path in a folder of your own"

  @MainActor private func consent() throws(CommandError) -> AgentConsent? {
    if let askProgram { return AgentConsent(.program(askProgram), life: remember.duration) }
    guard policy == .ask else { return nil }
    guard Terminal.isInteractive else {
      throw CommandError(.usage, "there is no terminal to ask at", hint: "add --ask-program ssh-askpass")
    }
    return AgentConsent(.terminal, life: remember.duration)
  }

  @MainActor func perform(in installation: Installation) async throws {
    try EnvironmentToken.refuse(to: "agent")
    let target = try target.target()
    let consent = try consent()
    let file = try SocketFile(socket, hint: AgentCommand.socketHint)
    let client = try await installation.client(account, isShortLived: false)
    let session = AgentSession(client, target: target)
    // Asks for the passphrase of the vault now, if it has one.
    _ = await client.restored()
    let responder = AgentResponder(
      session: session, users: Set(otherUsers + [geteuid()]), consent: consent, socket: file.path,
      log: AgentLog())
    try file.makeFolder()
    // The socket is never open to others, not even between two calls.
    umask(0o077)
    Interruption.arrange()
    Interruption.takeQuit()
    try await AgentService(file: file, mode: mode, responder: responder).run(for: time?.duration)
  }

  /// Users other than root need the permission to connect. Then the kernel's word on the peer decides.
  private var mode: Int { otherUsers.contains { $0 != 0 && $0 != geteuid() } ? 0o666 : 0o600 }
}
#endif
