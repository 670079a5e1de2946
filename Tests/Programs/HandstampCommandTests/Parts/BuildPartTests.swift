#if Operator
import ArgumentParser
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import HandstampSupport
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

/// For every build of the programs: that of the tests lacks nothing, and `make check-deep` tests that of `make run` by these. They also act
/// as the builds that lack one part each.
@Suite(.timeLimit(.minutes(10))) struct `A part that a build lacks` {
  @Test func `is one that it has no code for`() throws {
    #expect(BuildPart.lacking == BuildPart.unbuilt)
    #expect((PinnedNetwork.internet(certificateAuthorities: nil) != nil) == BuildPart.webhooks.isHere)
    #expect(BuildPart.clientDocuments.isHere == BuildPart.webhooks.isHere)
    let agent = try? CommandTransport.make(socket: "/no/agent.sock", namedBy: AgentClient.variable)
    #expect((agent != nil) == BuildPart.agentClient.isHere)
    #expect(GateCommand.helpMessage().contains("--issuer") == BuildPart.gate.isHere)
    var fault: ListenError?
    do throws(ListenError) { try TLSFiles(certificate: "/no/such", key: "/no/such").check() } catch { fault = error }
    #expect((fault != .missingTrait) == BuildPart.https.isHere)
  }

  @Test(arguments: BuildPart.allCases)
  func `is refused by name at each setting of the server that needs it, and at no other`(part: BuildPart) {
    var refused: [String] = []
    BuildPart.$lacking.withValue([part]) {
      for setting in ServeSettings.all {
        do throws(CommandError) {
          _ = try ServeSettings(flags: ["data": "/x"], environment: [setting.variable: "x"], file: nil)
        } catch {
          guard error.code == "not_in_build" else { continue }
          #expect(error == CommandError(part, at: setting.variable))
          #expect(error.message == "\(setting.variable): \(part.name) is not in this build")
          refused.append(setting.name)
        }
      }
    }
    #expect(refused.sorted() == part.settings.sorted())
  }

  @Test(arguments: BuildPart.allCases)
  func `is refused by name at each subcommand that needs it, and at no other`(part: BuildPart) {
    var refused: [String] = []
    BuildPart.$lacking.withValue([part]) {
      var next: [(path: [String], command: any ParsableCommand.Type)] = [([], HandstampServerTool.self)]
      while let (path, command) = next.popLast() {
        do throws(CommandError) { try BuildPart.check(command: path.joined(separator: " ")) } catch {
          #expect(error == CommandError(part))
          refused.append(path.joined(separator: " "))
        }
        next += command.configuration.subcommands.map { (path + [$0.configuration.commandName ?? ""], $0) }
      }
    }
    #expect(refused.sorted() == part.commands.sorted())
  }

  @Test(arguments: [
    "proxy", "proxy-credentials-file", "client-certificate", "client-key", "client-key-passphrase-file",
  ])
  func `is refused by name at each option of a network`(option: String) async throws {
    let options = try NetworkOptions.parse(["--\(option)", "/x"])
    #expect(Mirror(reflecting: options).children.count == 5)
    await BuildPart.$lacking.withValue([.network]) {
      await #expect(throws: CommandError(.network)) {
        _ = try await options.network(over: nil) { () throws(CommandError) in nil }
      }
    }
    // An account's stored network, and that of the environment.
    #expect(NetworkFailure.notInBuild.rawValue == BuildPart.network.refusal)
    #expect(NetworkFailure.notInBuild.hint == BuildPart.hint(building: "handstamp"))
  }

  @Test func `is refused by name where an agent's socket is given`() {
    BuildPart.$lacking.withValue([.agentClient]) {
      #expect(throws: CommandError(.agentClient, at: "HANDSTAMP_AGENT")) { _ = try AgentClient("/no/agent.sock") }
    }
  }

  @Test(arguments: [[], [.webhooks]] as [Set<BuildPart>])
  func `adds no webhook that its server would not tell`(lacking: Set<BuildPart>) async throws {
    let hook = Webhook.Settings(name: "crm", url: "https://crm.example.org/")
    func expectWebhooks(_ administration: Administration, areSent: Bool) async {
      var refusal: AdministrationError?
      do throws(AdministrationError) {
        _ = try await administration.addWebhook(hook)
        try await administration.testWebhook("crm")
        try await administration.replayWebhook("crm")
        try await administration.removeWebhook("crm")
      } catch { refusal = error }
      #expect(refusal == (areSent ? nil : .webhooksNotSent))
    }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("webhooks-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (store, keys) = try ServerFolder(path: folder).open()
    let admin = AdminStore(store: store, keys: keys)
    try await BuildPart.$lacking.withValue(lacking.union(BuildPart.unbuilt)) {
      let settings = try ServeSettings(flags: ["data": folder], environment: [:], file: nil)
      let server = try await SessionServer(
        configuration: settings.configuration, registry: admin.registry, keys: SigningKeys())
      await expectWebhooks(server.administration(by: .server()), areSent: BuildPart.webhooks.isHere)
      await expectWebhooks(admin.administration(), areSent: BuildPart.webhooks.isHere)
      // A program with a server inside has no way to the receivers.
      await expectWebhooks(Administration(admin.registry, by: .server()), areSent: false)
    }
    try store.close()
  }

  @Test func `is named by the version and the doctor`() async {
    let (terminal, server) = ("handstamp", "handstamp-server")
    let parts: Set<BuildPart> = [.https, .gate, .agentClient]
    let words = "build without asking an agent"
    #expect(BuildPart.words(without: [], in: server) == nil)
    // A part of the server's is none that a terminal lacks.
    #expect(BuildPart.words(without: [.https, .gate], in: terminal) == nil)
    #expect(BuildPart.words(without: parts, in: terminal) == words)
    #expect(BuildPart.words(without: parts, in: server) == "build without the gate, HTTPS at the server")
    let whole = CommandProgram.version
    for (program, version) in [
      (terminal, HandstampTool.configuration.version), (server, HandstampServerTool.configuration.version),
    ] {
      let lacking = BuildPart.words(without: BuildPart.unbuilt, in: program)
      #expect(version == (lacking.map { "\(whole) (\($0))" } ?? whole))
    }
    let findings = await BuildPart.$lacking.withValue(parts) {
      await Examination.findings(of: Home(path: "/no/such/home"))
    }
    #expect(findings.contains(.note("build", words, hint: BuildPart.hint(building: terminal))))
  }
}
#endif
