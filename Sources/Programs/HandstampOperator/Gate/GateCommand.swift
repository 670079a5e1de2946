#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampServer
import HandstampSupport
import Logging
import ServiceLifecycle
import UnixSignals

#if Verifier
import HandstampVerifier
#endif

/// A build without ``BuildPart/gate`` refuses it before it parses the rest.
struct GateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gate", abstract: "let a proxy ask whether to admit a request",
    discussion: """
      verifies access tokens for a service in any language: a proxy asks /verify
      before it passes a request on, and gets 200 with Handstamp-Subject,
      -Session, -Client and -Scope, or the answer for the client;
      /verify?scope=read asks for a scope

      prints its address on stdout once it accepts connections, and logs to
      stderr; on SIGTERM or SIGINT it stops

      every setting can be given as a flag or as an environment variable
      (HANDSTAMP_GATE_PUBLIC_URL for --public-url)

      it listens on this machine only, and believes what the proxy says of the
      request: the proxy has to set the header fields named by --headers itself,
      so that no client can
      """)

  #if Verifier
  @OptionGroup var flags: SettingFlags<GateSettings>

  func run() async throws {
    let settings = try GateSettings(flags: flags.texts, environment: ProcessInfo.processInfo.environment)
    let logger = ServerLog(level: settings.logLevel).logger
    let verifier = try settings.makeVerifier(logger)
    if case .unixSocket(let path) = settings.address {
      try SocketFile(path, hint: GateSettings.hint(of: "listen")).makeRoom()
      // For the owner and the group, to which the proxy has to belong.
      umask(0o117)
    }
    // Its own words about starting and stopping are those of every service.
    var quiet = logger
    quiet.logLevel = max(.warning, settings.logLevel)
    do {
      let listener = try GateCommand.listener(settings, verifier: verifier, logger: quiet)
      let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: [FollowedFeed(verifier: verifier), listener], gracefulShutdownSignals: [.sigterm, .sigint],
          logger: quiet))
      try await group.run()
    } catch let fault as ListenError {
      throw CommandError(.configuration, "\(fault)", hint: GateSettings.hint(of: "listen"))
    }
  }

  private static func listener(
    _ settings: GateSettings, verifier: TokenVerifier, logger: Logger
  ) throws(ListenError) -> Listener {
    let gate = GateResponder(
      verifier: verifier, publicURL: settings.publicURL, headers: settings.headers,
      passesPreflights: settings.passesPreflights)
    var options = ListenerOptions()
    // All connections are the proxy's.
    options.connectionsPerAddress = .max
    // A request has what the proxy admits, and the original URI once more.
    options.headSize = 80 << 10
    options.headFields = 1000
    // The answer is known without one.
    options.bodySize = 0
    return try Listener(
      on: [settings.address], options: options, logger: logger,
      onReady: { port in
        guard case .host(let host, _) = settings.address else { return Terminal.out("\(settings.address)") }
        Terminal.out("http://\(ListeningAddress.host(host, port: port))")
      }
    ) { request, _ in await gate.respond(to: request, logger) }
  }
  #endif
}

#if Verifier
/// The verifier's feed, as long as the gate is open.
private struct FollowedFeed: Service, CustomStringConvertible {
  let verifier: TokenVerifier
  var description: String { "FollowedFeed" }

  func run() async throws {
    await cancelWhenGracefulShutdown { await verifier.run() }
  }
}
#endif
#endif
