#if Programs
import ArgumentParser
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampSQLite
import Logging

/// `handstamp serve`.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "run a session server backed by SQLite",
    discussion: """
      prints its URL on stdout once it accepts connections, and logs to stderr, one JSON object per line; on SIGTERM or
      SIGINT it finishes the requests in flight, then stops

      every setting can be given as a flag, as an environment variable (HANDSTAMP_SERVE_PORT for --port), or as a member
      of the JSON object in the --config file ("port"), in this order of precedence

      back up the folder as a whole: its keys and its database belong together; to restore, replace only the database
      and keep ends.log and clock, which record the sessions ended since the backup

      beyond loopback it serves HTTPS only, or plain HTTP behind a proxy that terminates TLS; certificate and key are read
      again when they change

      started with sockets (LISTEN_FDS, as by a systemd socket unit), it listens on those instead of --host and --port, and
      no client notices a restart; it tells NOTIFY_SOCKET when it is ready, and when it stops

      HANDSTAMP_SERVE_KEYS may hold the full text of a keys.json, to use instead of that file
      """)

  @Option(help: "folder for the database and keys, created if missing") var data: String?
  @Option(help: "address to listen on (default: 127.0.0.1)") var host: String?
  @Option(help: "port to listen on, 0 for any free one (default: 8080)") var port: String?
  @Option(help: "JSON file with settings") var config: String?
  @Option(help: "public https URL of the server (default: the address it listens on)") var issuer: String?
  @Option(help: "lifetime of access tokens (default: 10m)") var accessTokenLife: String?
  @Option(help: "end a session after this long without use (default: 90d)") var idleLimit: String?
  @Option(help: "end a session this long after sign-in (default: 365d)") var absoluteLimit: String?
  @Option(
    help: "maximum sessions per account; beyond it, the least recently seen one ends (default: unlimited)")
  var maxSessions: String?
  @Option(help: "open, confirmed (by mail) or closed (default: open on loopback, else confirmed)") var signUp: String?
  @Option(help: "folder to write mails to (default: mail in the data folder)") var mailFolder: String?
  @Option(help: "program that sends mails instead, e.g. /usr/sbin/sendmail") var sendmail: String?
  @Option(help: "sender of mails (default: handstamp@ followed by the issuer's host)") var mailFrom: String?
  @Option(help: "template for links in mails, with {token} and {action} (default: mails contain a code)")
  var mailLink: String?
  @Option(help: "accept Sign in with Apple for this app ID, or several separated by commas")
  var appleClientID: String?
  @Option(help: .hidden) var appleIssuer: String?
  @Option(help: .hidden) var appleKeysURL: String?
  @Option(help: "JSON file with the OAuth clients that users may authorize") var clients: String?
  @Option(help: "how long to keep ended sessions and events (default: 30d)") var retention: String?
  @Option(help: "file with the JSON object served at /v1/app-config") var appConfig: String?
  @Option(help: "limits on sign-ins, sign-ups, mails and so on: standard or none (default: standard)")
  var rateLimits: String?
  @Option(help: "addresses of proxies that name the clients, e.g. 10.0.0.0/8,::1,unix (default: no proxies)")
  var trustedProxies: String?
  @Option(help: "the header field that these proxies write: x-forwarded-for or forwarded (default: x-forwarded-for)")
  var proxyHeader: String?
  @Option(help: "trace, debug, info, notice, warning or error (default: info)") var logLevel: String?
  @Option(help: "certificate chain in PEM, to serve HTTPS") var tlsCertificate: String?
  @Option(help: "private key of the certificate, in PEM") var tlsKey: String?
  @Option(help: "yes serves plain HTTP beyond loopback (default: no)") var allowCleartext: String?
  @Flag(help: "trust the system clock even though it differs from the expected time")
  var trustClock = false
  @Flag(help: "create the database for the keys in HANDSTAMP_SERVE_KEYS, then exit") var newDatabase = false
  @Flag(help: .hidden) var untilStdinEnds = false

  func run() async throws {
    let settings = try ServeSettings(
      flags: [
        .data: data, .host: host, .port: port, .issuer: issuer, .accessTokenLife: accessTokenLife,
        .idleLimit: idleLimit, .absoluteLimit: absoluteLimit, .maxSessions: maxSessions, .signUp: signUp,
        .mailFolder: mailFolder,
        .sendmail: sendmail, .mailFrom: mailFrom, .mailLink: mailLink, .retention: retention,
        .appleClientID: appleClientID, .appleIssuer: appleIssuer, .appleKeysURL: appleKeysURL, .appConfig: appConfig,
        .clients: clients, .rateLimits: rateLimits, .trustedProxies: trustedProxies, .proxyHeader: proxyHeader,
        .logLevel: logLevel, .tlsCertificate: tlsCertificate, .tlsKey: tlsKey, .allowCleartext: allowCleartext,
      ].compactMapValues { $0 }, environment: ProcessInfo.processInfo.environment, file: config)
    if newDatabase { return try settings.createDatabase() }
    let (store, keys) = try settings.openFolder()
    let logger = settings.logger
    defer { close(store, logger) }
    let server = try await settings.server(store: store, keys: keys, trustingClock: trustClock)
    let host = settings.host
    if store.endedAgain > 0 {
      logger.warning(
        "Ended sessions again that a restored database listed as active",
        metadata: ["handstamp.count": "\(store.endedAgain)"])
    }
    if store.unreadableEnds > 0 {
      logger.warning(
        "Unreadable lines in the log of ended sessions", metadata: ["handstamp.count": "\(store.unreadableEnds)"])
    }
    if !Loopback.contains(host: host), settings.signUp == .open {
      logger.warning("Sign-up is open to anyone who can reach this server")
    }
    if !Loopback.contains(host: host), let folder = settings.mailer as? MailFolder {
      logger.warning("Mails are written to a folder and not sent", metadata: ["handstamp.folder": "\(folder.path)"])
    }
    do {
      try await serve(server, with: settings)
    } catch is CancellationError {
      // Stopped.
    } catch ListenFault.cleartext(let address) {
      throw Refusal(
        .usage, "serving \(address) in plain HTTP would send passwords and tokens unencrypted",
        hint:
          "add --tls-certificate and --tls-key, or --trusted-proxies with the address of the proxy that terminates TLS"
      )
    } catch ListenFault.tls(let fault) {
      throw Refusal(.usage, plain("\(fault)"), hint: fault.hint)
    } catch ListenFault.notListening(let address) {
      throw Refusal(.failure, "\(ListenFault.notListening(address))", hint: ListenFault.notListening(address).hint)
    } catch {
      logger.error("Server failed", metadata: ["handstamp.error": "\(type(of: error))"])
      throw Refusal(
        .failure, "cannot listen on \(host):\(settings.port)",
        hint: "choose another --host or --port; port 0 picks a free one")
    }
  }

  private func close(_ store: SQLiteRegistryStore, _ logger: Logger) {
    do throws(RegistryStoreError) { try store.close() } catch {
      logger.error(
        "The database file is incomplete without the -wal file beside it",
        metadata: ["handstamp.cause": "\(error)"])
    }
  }

  private func serve(_ server: SessionServer, with settings: ServeSettings) async throws {
    let environment = ProcessInfo.processInfo.environment
    let inherited = ListeningAddress.inherited(by: getpid(), environment: environment)
    let notifier = ServiceNotifier(environment: environment)
    // Not for programs that this one starts.
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"] { unsetenv(name) }
    let addresses = inherited.isEmpty ? [.host(settings.host, port: settings.port)] : inherited
    let scheme = settings.tls == nil ? "http" : "https"
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await server.run(on: addresses, stoppingOnSignals: true, notifier: notifier) { port in
          server.configuration.logger.notice("Listening", metadata: ["handstamp.port": "\(port)"])
          let address = ListeningAddress.host(settings.host, port: port)
          Terminal.out(port == 0 ? server.configuration.issuer : "\(scheme)://\(address)")
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

/// The parent process holds the other end of standard input, which closes when that process dies.
enum StandardInput {
  /// Returns at the end of input, or when its task is cancelled.
  static func end() async {
    let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
    // A dedicated thread, because reading blocks.
    Thread.detachNewThread {
      while case let data = FileHandle.standardInput.availableData, !data.isEmpty {}
      continuation.finish()
    }
    for await _ in ends {}
  }
}
#endif
