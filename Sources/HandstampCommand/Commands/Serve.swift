#if Programs
import ArgumentParser
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import Logging

/// `handstamp serve`.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "runs a session server on SQLite",
    discussion: """
      prints its address on stdout once it accepts connections, and its log on stderr, one JSON object a line; ends on
      SIGTERM and SIGINT after the requests that are under way

      every setting can be given as a flag, as an environment variable (HANDSTAMP_SERVE_PORT for --port) or as a member
      of the JSON object in the --config file ("port"); what stands earlier in this sentence wins

      back up the folder as a whole: its keys and its database belong together; to restore, put the database back
      and leave ends.log and clock where they are, which tell what ended since

      keys may come from HANDSTAMP_SERVE_KEYS instead of keys.json, as the whole text of such a file
      """)

  @Option(help: "the folder of database and keys, made when it is missing") var data: String?
  @Option(help: "the address to listen on (default: 127.0.0.1)") var host: String?
  @Option(help: "the port to listen on, 0 for any free one (default: 8080)") var port: String?
  @Option(help: "a file with settings") var config: String?
  @Option(help: "the https address under which the server is known (default: where it listens)") var issuer: String?
  @Option(help: "how long an access token is good (default: 10m)") var accessTokenLife: String?
  @Option(help: "ends a session after this long without use (default: 90d)") var idleLimit: String?
  @Option(help: "ends a session this long after sign-in (default: 365d)") var absoluteLimit: String?
  @Option(
    help: "how many sessions an account has at most; one more ends the one seen longest ago (default: any number)")
  var maxSessions: String?
  @Option(help: "open, confirmed (by mail) or closed (default: open on loopback, else confirmed)") var signUp: String?
  @Option(help: "a folder that mails are put into (default: mail in the folder of the server)") var mailFolder: String?
  @Option(help: "the program that sends mails instead, such as /usr/sbin/sendmail") var sendmail: String?
  @Option(help: "whom mails are from (default: handstamp@ and the issuer's host)") var mailFrom: String?
  @Option(help: "what links in mails look like, with {token} and {action} (default: mails have a code)")
  var mailLink: String?
  @Option(help: "takes Sign in with Apple for the app of that id, or for several, with commas between")
  var appleClientID: String?
  @Option(help: .hidden) var appleIssuer: String?
  @Option(help: .hidden) var appleKeysURL: String?
  @Option(help: "a file with the OAuth clients that people may let in to their accounts") var clients: String?
  @Option(help: "how long ended sessions and events are kept (default: 30d)") var retention: String?
  @Option(help: "a file with the JSON object that apps read at /v1/app-config") var appConfig: String?
  @Option(help: "trace, debug, info, notice, warning or error (default: info)") var logLevel: String?
  @Flag(help: "counts the machine's clock as right, although it shows another time than was to be expected")
  var trustClock = false
  @Flag(help: "makes the database for keys in HANDSTAMP_SERVE_KEYS, and ends") var newDatabase = false
  @Flag(help: .hidden) var untilStdinEnds = false

  func run() async throws {
    let settings = try ServeSettings(
      flags: [
        .data: data, .host: host, .port: port, .issuer: issuer, .accessTokenLife: accessTokenLife,
        .idleLimit: idleLimit, .absoluteLimit: absoluteLimit, .maxSessions: maxSessions, .signUp: signUp,
        .mailFolder: mailFolder,
        .sendmail: sendmail, .mailFrom: mailFrom, .mailLink: mailLink, .retention: retention,
        .appleClientID: appleClientID, .appleIssuer: appleIssuer, .appleKeysURL: appleKeysURL, .appConfig: appConfig,
        .clients: clients,
        .logLevel: logLevel,
      ].compactMapValues { $0 }, environment: ProcessInfo.processInfo.environment, file: config)
    if newDatabase { return try settings.createDatabase() }
    let (store, keys) = try settings.openFolder()
    let logger = settings.logger
    defer { close(store, logger) }
    let server = try await settings.server(store: store, keys: keys, trustingClock: trustClock)
    let host = settings.host
    if store.endedAgain > 0 {
      logger.warning(
        "Sessions that a restored database showed as living were ended again",
        metadata: ["handstamp.count": "\(store.endedAgain)"])
    }
    if store.unreadableEnds > 0 {
      logger.warning(
        "Lines of the log of ended sessions cannot be read", metadata: ["handstamp.count": "\(store.unreadableEnds)"])
    }
    if host != "127.0.0.1", host != "localhost", host != "::1", settings.signUp == .open {
      logger.warning("Anybody who reaches this server can sign up")
    }
    if host != "127.0.0.1", host != "localhost", host != "::1", let folder = settings.mailer as? MailFolder {
      logger.warning("Mails are put into a folder, none is sent", metadata: ["handstamp.folder": "\(folder.path)"])
    }
    do {
      try await serve(server, on: host, port: settings.port)
    } catch is CancellationError {
      // Stopped.
    } catch {
      logger.error("Server failed", metadata: ["handstamp.error": "\(type(of: error))"])
      throw Refusal(
        .failure, "\(host), port \(settings.port), cannot be listened on",
        hint: "choose another with --host and --port, or port 0 for any free one")
    }
  }

  private func close(_ store: SQLiteRegistryStore, _ logger: Logger) {
    do throws(RegistryStoreError) { try store.close() } catch {
      logger.error(
        "The database file alone is not whole now: it belongs to the file beside it that ends in -wal",
        metadata: ["handstamp.cause": "\(error)"])
    }
  }

  private func serve(_ server: SessionServer, on host: String, port: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await server.run(host: host, port: port, stoppingOnSignals: true) { port in
          let name = host.contains(":") ? "[\(host)]" : host
          server.configuration.logger.notice("Listening", metadata: ["handstamp.port": "\(port)"])
          Terminal.out("http://\(name):\(port)")
        }
      }
      if untilStdinEnds {
        group.addTask { await StandardInput.end() }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}

/// Whoever started this program holds the other end of its standard input, and lets go of it when it dies.
enum StandardInput {
  /// Returns when there is nothing more to come, or when its task is cancelled.
  static func end() async {
    let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
    // A thread of its own, which may block.
    Thread.detachNewThread {
      while case let data = FileHandle.standardInput.availableData, !data.isEmpty {}
      continuation.finish()
    }
    for await _ in ends {}
  }
}
#endif
