#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import Logging

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "run a session server on SQLite or PostgreSQL",
    discussion: """
      prints its URL on stdout once it accepts connections, at a terminal also the
      page to open in a browser, and logs to stderr, one JSON object per line; on
      SIGTERM or SIGINT it finishes the requests in flight, then stops

      every setting can be given as a flag, as an environment variable
      (HANDSTAMP_SERVE_PORT for --port), or as a member of the --config file
      (port), in this order of precedence; --check prints them and where they come
      from; on SIGHUP the server reads the file again and takes over what can
      change while it runs

      with --database, any number of servers share the sessions; each needs the
      keys.json and signing.pem of the first server

      back up with handstamp-server admin database backup, and restore with
      handstamp-server admin database restore

      beyond loopback it serves HTTPS only, or plain HTTP behind a proxy that
      terminates TLS; certificate and key are read again when they change

      started with sockets (LISTEN_FDS, as by a systemd socket unit), it listens
      on those instead of --host and --port, and no client notices a restart; it
      tells NOTIFY_SOCKET when it is ready, and when it stops

      HANDSTAMP_SERVE_KEYS may hold the full text of a keys.json, to use instead
      of that file, and --keys-file name it
      """)

  @Option(help: "file with settings, in JSON or YAML") var config: String?
  @OptionGroup var flags: SettingFlags<ServeSettings>
  @Flag(help: "check the settings and the files that they name, print the settings without secrets, and exit")
  var check = false
  @Flag(help: "create the database for the keys in HANDSTAMP_SERVE_KEYS, then exit") var newDatabase = false
  @Flag(help: .hidden) var untilStdinEnds = false

  func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    let settings = try ServeSettings(flags: flags.texts, environment: environment, file: config)
    if check { return try await SettingsCheck(settings: settings).run() }
    if newDatabase { return try await settings.createDatabase() }
    let (store, keys) = try await settings.openDatabase()
    let log = ServerLog(level: settings.logLevel)
    let logger = log.logger
    defer { close(store, logger) }
    let prometheus = PrometheusMetrics()
    let server = try await settings.server(
      store: store, keys: keys, logger: logger, metrics: prometheus)
    if !store.reapplied.isEmpty {
      logger.warning(
        "Reapplied removals and ends that a restored database lacked",
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
    let watch = SigningKeyWatch(try settings.signingKeys(), of: server, sharing: settings.database.isShared)
    try await watch.start()
    let reloader = SettingsReloader(
      server: server, store: store, keys: keys, log: log, watch: watch, current: Locked(settings),
      read: { [flags, config] () throws(CommandError) in
        try ServeSettings(flags: flags.texts, environment: environment, file: config)
      })
    let (pages, pageListens) = AsyncStream.makeStream(of: Void.self)
    let page = metricsPage(of: server, settings, prometheus) { pageListens.finish() }
    if page == nil { pageListens.finish() }
    do {
      try await serve(server, with: settings, reloader, beside: page) { for await _ in pages {} }
    } catch is CancellationError {
      // Stopped.
    } catch let fault as ListenError {
      throw settings.refusal(fault)
    } catch {
      logger.error("Server failed", metadata: ["handstamp.error": "\(type(of: error))"])
      throw CommandError(.failure, "the server failed: \(error)", hint: "see the log; if it starts again, report this")
    }
  }

  private func close(_ store: any ServerStore, _ logger: Logger) {
    do throws(RegistryStoreError) { try store.close() } catch {
      logger.error(
        "Database not closed; its file is incomplete without the -wal file beside it",
        metadata: ["handstamp.cause": "\(error)"])
    }
  }

  private func metricsPage(
    of server: SessionServer, _ settings: ServeSettings, _ metrics: PrometheusMetrics,
    onReady: @escaping @Sendable () -> Void
  ) -> MetricsPage? {
    guard case .host(let host, let port)? = settings.metrics else { return nil }
    return MetricsPage(of: server, metrics: metrics, host: host, port: port, version: CommandProgram.version) { port in
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
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await server.run(
          on: addresses, stoppingOnSignals: true, notifier: notifier, beside: page.map { [$0] } ?? []
        ) { port in
          await others()
          guard !Task.isCancelled else { return }
          server.configuration.logger.notice("Listening", metadata: ["handstamp.port": "\(port)"])
          settings.noteIssuer(server.configuration.logger)
          Terminal.out(settings.url(at: port))
          if isatty(STDOUT_FILENO) == 1 { Terminal.say("open \(server.configuration.issuer)/account in a browser") }
        }
      }
      group.addTask { await reloader.run(notifier) }
      group.addTask { await reloader.watch.run() }
      if untilStdinEnds {
        group.addTask { await Serve.inputEnd() }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Returns at the end of standard input, or when its task is cancelled. The parent process holds the other end, which closes when
  /// that process dies.
  private static func inputEnd() async {
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
