#if Command
import ArgumentParser
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampStorage
import Logging

/// `handstamp serve`.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "run a session server on SQLite or PostgreSQL",
    discussion: """
      prints its URL on stdout once it accepts connections, and logs to stderr, one JSON object per line; on SIGTERM or
      SIGINT it finishes the requests in flight, then stops

      every setting can be given as a flag, as an environment variable (HANDSTAMP_SERVE_PORT for --port), or as a member
      of the --config file (port), in this order of precedence; --check prints them and where they come from; on SIGHUP the
      server reads the file again and takes over what can change while it runs

      with --database, any number of servers share the sessions; each needs the keys.json and signing.pem of the first server

      back up with handstamp admin database backup, and restore with handstamp admin database restore

      beyond loopback it serves HTTPS only, or plain HTTP behind a proxy that terminates TLS; certificate and key are read
      again when they change

      started with sockets (LISTEN_FDS, as by a systemd socket unit), it listens on those instead of --host and --port, and
      no client notices a restart; it tells NOTIFY_SOCKET when it is ready, and when it stops

      HANDSTAMP_SERVE_KEYS may hold the full text of a keys.json, to use instead of that file, and --keys-file name it
      """)

  @Option(help: "file with settings, in JSON or YAML") var config: String?
  @Option(help: ServeSetting.data.help) var data: String?
  @Option(help: ServeSetting.database.help) var database: String?
  @Option(help: ServeSetting.databaseConnections.help) var databaseConnections: String?
  @Option(help: ServeSetting.host.help) var host: String?
  @Option(help: ServeSetting.port.help) var port: String?
  @Option(help: ServeSetting.issuer.help) var issuer: String?
  @Option(help: ServeSetting.tlsCertificate.help) var tlsCertificate: String?
  @Option(help: ServeSetting.tlsKey.help) var tlsKey: String?
  @Option(help: ServeSetting.allowCleartext.help) var allowCleartext: String?
  @Option(help: ServeSetting.hstsSubdomains.help) var hstsSubdomains: String?
  @Option(help: ServeSetting.trustedProxies.help) var trustedProxies: String?
  @Option(help: ServeSetting.proxyHeader.help) var proxyHeader: String?
  @Option(help: ServeSetting.accessTokenLife.help) var accessTokenLife: String?
  @Option(help: ServeSetting.idleLimit.help) var idleLimit: String?
  @Option(help: ServeSetting.absoluteLimit.help) var absoluteLimit: String?
  @Option(help: ServeSetting.maxSessions.help) var maxSessions: String?
  @Option(help: ServeSetting.reauthenticateAfter.help) var reauthenticateAfter: String?
  @Option(help: ServeSetting.retention.help) var retention: String?
  @Option(help: ServeSetting.signUp.help) var signUp: String?
  @Option(help: ServeSetting.minimumPassword.help) var minimumPassword: String?
  @Option(help: ServeSetting.breachedPasswords.help) var breachedPasswords: String?
  @Option(help: ServeSetting.rateLimits.help) var rateLimits: String?
  @Option(help: ServeSetting.mailFolder.help) var mailFolder: String?
  @Option(help: ServeSetting.sendmail.help) var sendmail: String?
  @Option(help: ServeSetting.smtp.help) var smtp: String?
  @Option(help: ServeSetting.smtpUser.help) var smtpUser: String?
  @Option(help: ServeSetting.smtpPasswordFile.help) var smtpPasswordFile: String?
  @Option(help: ServeSetting.caCertificates.help) var caCertificates: String?
  @Option(help: ServeSetting.smtpCleartext.help) var smtpCleartext: String?
  @Option(help: ServeSetting.mailFrom.help) var mailFrom: String?
  @Option(help: ServeSetting.mailLink.help) var mailLink: String?
  @Option(help: ServeSetting.browserIdleLimit.help) var browserIdleLimit: String?
  @Option(help: ServeSetting.guestIdleLimit.help) var guestIdleLimit: String?
  @Option(help: ServeSetting.browserAbsoluteLimit.help) var browserAbsoluteLimit: String?
  @Option(help: ServeSetting.webOrigins.help) var webOrigins: String?
  @Option(help: ServeSetting.passkeyDomain.help) var passkeyDomain: String?
  @Option(help: ServeSetting.siteName.help) var siteName: String?
  @Option(help: ServeSetting.siteLogo.help) var siteLogo: String?
  @Option(help: ServeSetting.accent.help) var accent: String?
  @Option(help: ServeSetting.pages.help) var pages: String?
  @Option(help: ServeSetting.notices.help) var notices: String?
  @Option(help: ServeSetting.devicesLink.help) var devicesLink: String?
  @Option(help: ServeSetting.clients.help) var clients: String?
  @Option(help: ServeSetting.appConfig.help) var appConfig: String?
  @Option(help: ServeSetting.appleClientID.help) var appleClientID: String?
  @Option(help: ServeSetting.appleIssuer.help) var appleIssuer: String?
  @Option(help: ServeSetting.appleKeysURL.help) var appleKeysURL: String?
  @Option(help: ServeSetting.keysFile.help) var keysFile: String?
  @Option(help: ServeSetting.adminTokenFile.help) var adminTokenFile: String?
  @Option(help: ServeSetting.auditRetention.help) var auditRetention: String?
  @Option(help: ServeSetting.addressRetention.help) var addressRetention: String?
  @Option(help: ServeSetting.auditToLog.help) var auditToLog: String?
  @Option(help: ServeSetting.metricsAddress.help) var metricsAddress: String?
  @Option(help: ServeSetting.shutdownDelay.help) var shutdownDelay: String?
  @Option(help: ServeSetting.logLevel.help) var logLevel: String?
  @Flag(help: "check the settings and the files that they name, print the settings without secrets, and exit")
  var check = false
  @Flag(help: "trust the system clock even though it differs from the expected time")
  var trustClock = false
  @Flag(help: "create the database for the keys in HANDSTAMP_SERVE_KEYS, then exit") var newDatabase = false
  @Flag(help: .hidden) var untilStdinEnds = false

  private var flags: [ServeSetting: String] {
    [
      .data: data, .database: database, .databaseConnections: databaseConnections, .host: host, .port: port,
      .issuer: issuer, .tlsCertificate: tlsCertificate, .tlsKey: tlsKey,
      .allowCleartext: allowCleartext, .hstsSubdomains: hstsSubdomains, .trustedProxies: trustedProxies,
      .proxyHeader: proxyHeader,
      .accessTokenLife: accessTokenLife, .idleLimit: idleLimit, .absoluteLimit: absoluteLimit,
      .maxSessions: maxSessions, .reauthenticateAfter: reauthenticateAfter, .retention: retention, .signUp: signUp,
      .minimumPassword: minimumPassword,
      .breachedPasswords: breachedPasswords, .rateLimits: rateLimits, .mailFolder: mailFolder, .sendmail: sendmail,
      .smtp: smtp, .smtpUser: smtpUser, .smtpPasswordFile: smtpPasswordFile, .caCertificates: caCertificates,
      .smtpCleartext: smtpCleartext,
      .browserIdleLimit: browserIdleLimit, .guestIdleLimit: guestIdleLimit, .browserAbsoluteLimit: browserAbsoluteLimit,
      .webOrigins: webOrigins,
      .passkeyDomain: passkeyDomain,
      .siteName: siteName,
      .siteLogo: siteLogo, .accent: accent, .pages: pages,
      .mailFrom: mailFrom, .mailLink: mailLink, .notices: notices, .devicesLink: devicesLink, .clients: clients,
      .appConfig: appConfig,
      .appleClientID: appleClientID, .appleIssuer: appleIssuer, .appleKeysURL: appleKeysURL, .keysFile: keysFile,
      .adminTokenFile: adminTokenFile, .auditRetention: auditRetention, .addressRetention: addressRetention,
      .auditToLog: auditToLog,
      .metricsAddress: metricsAddress, .shutdownDelay: shutdownDelay, .logLevel: logLevel,
    ].compactMapValues { $0 }
  }

  func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    let settings = try await ServeSettings(flags: flags, environment: environment, file: config)
    if check { return try await SettingsCheck(settings: settings).run() }
    if newDatabase { return try await settings.createDatabase() }
    let (store, keys) = try await settings.openDatabase()
    let log = ServerLog(level: settings.logLevel)
    let logger = log.logger
    defer { close(store, logger) }
    let prometheus = PrometheusMetrics()
    let server = try await settings.server(
      store: store, keys: keys, logger: logger, metrics: prometheus, trustingClock: trustClock)
    if !store.reapplied.isEmpty {
      logger.warning(
        "Took away again what a restored database still had",
        metadata: store.reapplied.counts.reduce(into: [:]) { $0["handstamp.\($1.name)"] = "\($1.count)" })
      let details = store.reapplied.counts.map { "\"\($0.name)\":\"\($0.count)\"" }.joined(separator: ",")
      try await server.registry.audit(.restored, details: "{\(details)}", now: .systemTime)
    }
    if store.unreadableEnds > 0 {
      logger.warning(
        "Unreadable lines in ends.log", metadata: ["handstamp.count": "\(store.unreadableEnds)"])
    }
    for warning in settings.warnings {
      logger.warning("Check the settings", metadata: ["handstamp.warning": "\(warning)"])
    }
    let watch = SigningKeyWatch(try settings.signingKeyFile.keys(), of: server)
    try await watch.start()
    let reloader = SettingsReloader(
      server: server, store: store, keys: keys, log: log, watch: watch, current: settings,
      read: { [flags, config] () async throws(Refusal) in
        try await ServeSettings(flags: flags, environment: environment, file: config)
      })
    let (pages, pageListens) = AsyncStream.makeStream(of: Void.self)
    let page = metricsPage(of: server, settings, prometheus) { pageListens.finish() }
    if page == nil { pageListens.finish() }
    do {
      try await serve(server, with: settings, reloader, beside: page) { for await _ in pages {} }
    } catch is CancellationError {
      // Stopped.
    } catch let fault as ListenFault {
      throw settings.refusal(fault)
    } catch {
      logger.error("Server failed", metadata: ["handstamp.error": "\(type(of: error))"])
      throw Refusal(.failure, "the server failed: \(error)", hint: "see the log; if it starts again, report this")
    }
  }

  private func close(_ store: any ServerStore, _ logger: Logger) {
    do throws(RegistryStoreError) { try store.close() } catch {
      logger.error(
        "The database was not closed; a database file is incomplete without the -wal file beside it",
        metadata: ["handstamp.cause": "\(error)"])
    }
  }

  private func metricsPage(
    of server: SessionServer, _ settings: ServeSettings, _ metrics: PrometheusMetrics,
    onReady: @escaping @Sendable () -> Void
  ) -> MetricsPage? {
    guard case .host(let host, let port)? = settings.metrics else { return nil }
    return MetricsPage(of: server, metrics: metrics, host: host, port: port, version: HandstampTool.version) { port in
      server.configuration.logger.notice("Metrics page", metadata: ["handstamp.port": "\(port)"])
      onReady()
    }
  }

  /// - Parameter others: returns when everything beside the server listens as well; only then the server says that it does.
  private func serve(
    _ server: SessionServer, with settings: ServeSettings, _ reloader: SettingsReloader, beside page: MetricsPage?,
    awaiting others: @escaping @Sendable () async -> Void
  ) async throws {
    let environment = ProcessInfo.processInfo.environment
    let inherited = ListeningAddress.inherited(by: getpid(), environment: environment)
    let notifier = ServiceNotifier(environment: environment)
    // Not for programs that this one starts.
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"] { unsetenv(name) }
    let addresses = inherited.isEmpty ? [.host(settings.host, port: settings.port)] : inherited
    let scheme = settings.tls == nil ? "http" : "https"
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await server.run(
          on: addresses, stoppingOnSignals: true, notifier: notifier, beside: page.map { [$0] } ?? []
        ) { port in
          await others()
          guard !Task.isCancelled else { return }
          server.configuration.logger.notice("Listening", metadata: ["handstamp.port": "\(port)"])
          let address = ListeningAddress.host(settings.host, port: port)
          Terminal.out(port == 0 ? server.configuration.issuer : "\(scheme)://\(address)")
        }
      }
      group.addTask { await reloader.run(notifier) }
      group.addTask { await reloader.watch.run() }
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
