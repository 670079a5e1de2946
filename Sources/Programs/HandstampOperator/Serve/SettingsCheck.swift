#if Operator
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampPostgres
import HandstampRegistry
import HandstampServer
import HandstampSupport
import Logging

/// The work of `handstamp-server serve --check`: it checks the settings and the files that they name, and prints the settings without
/// secrets. It opens an existing database as the admin commands do, to count the sessions of clients that are missing.
struct SettingsCheck {
  let settings: ServeSettings

  /// - Throws: the refusal that the start would end with, as far as that can be known without serving the data folder.
  func run() async throws {
    do throws(ListenError) { try settings.configuration.listener.tls?.check() } catch {
      throw CommandError(.usage, plain("\(error)"), hint: error.hint)
    }
    let limits = settings.limits
    let store = MemoryRegistryStore()
    let registry = Registry(store: store, mint: TokenMint(try ServerKeys.drawn().master), limits: limits)
    // They stand for those of the data folder.
    let keys = try settings.needsRSA ? SigningKeys().withRSAKey() : SigningKeys()
    let transport = CommandTransport.make(certificateAuthorities: settings.certificateAuthorities)
    let server = try await ServeSettings.explained {
      try await SessionServer(
        configuration: settings.configuration(
          logger: Logger(label: "handstamp.check") { _ in SwiftLogNoOpLogHandler() }),
        registry: registry, keys: keys, mailer: settings.mailer, apple: settings.apple,
        transport: transport)
    }
    if ListeningAddress.inherited(by: getpid(), environment: ProcessInfo.processInfo.environment).isEmpty {
      do throws(ListenError) {
        try server.configuration.requireEncryption(on: [.host(settings.host, port: settings.port)])
      } catch { throw settings.refusal(error) }
    }
    for warning in settings.warnings + (await clientWarnings(of: server)) { Terminal.say("warning: \(warning)") }
    for line in lines { Terminal.out(line) }
    for (warning, hint) in await settings.missingAssociations(transport) {
      Terminal.say("warning: \(warning)")
      Terminal.say("hint: \(hint)")
    }
  }

  /// None if there is no database yet, or one that cannot be opened: the start says why.
  func clientWarnings(of server: SessionServer) async -> [String] {
    let folder = AdminFolder(path: settings.data, database: settings.database, keys: settings.keys, keysPlace: "")
    let warnings = try? await folder.open { store throws(CommandError) in
      await server.clientWarnings(in: store.registry)
    }
    return warnings ?? []
  }

  /// One line for each setting: its name, its value and where that comes from.
  var lines: [String] {
    let rows = ServeSettings.all.compactMap { setting -> [String]? in
      guard let value = settings.values[setting.name] else {
        let text = settings.derived(setting.name) ?? setting.fallback
        return setting.isHidden || text.isEmpty ? nil : [setting.name, text, "default"]
      }
      return [setting.name, shown(setting, value.text), value.place]
    }
    return Table(rows: rows).lines
  }

  /// A value without secrets.
  private func shown(_ setting: ServeSetting, _ text: String) -> String {
    switch setting.name {
    case "database": (try? PostgresAddress(text).description) ?? "<secret>"
    default: setting.isSecret ? "<secret>" : text
    }
  }
}

extension SessionServer {
  /// Clients that an operator may not have meant to remove: their users would not notice before the next refresh.
  func clientWarnings(in registry: Registry) async -> [String] {
    let missing = (try? await missingClients(in: registry)) ?? [:]
    return missing.sorted { $0.key < $1.key }.map { id, count in
      "client \(id.onOneLine) is not configured, and \(count) live session(s) of it wait for its entry; to end them:"
        + " handstamp-server admin clients remove \(id.onOneLine)"
    }
  }
}

extension ServeSettings {
  /// Returns a default that follows from other settings.
  fileprivate func derived(_ setting: String) -> String? {
    switch setting {
    case "issuer": issuer
    case "sign-up": configuration.signUp.rawValue
    case "mail-folder": (mailer as? MailFolder)?.path ?? ""
    default: nil
    }
  }

  /// Settings that an operator may not have meant.
  var warnings: [String] {
    var warnings: [String] = []
    if !isPrivate, configuration.signUp == .open {
      warnings.append("sign-up is open to anyone who can reach this server")
    }
    if !isPrivate, let folder = mailer as? MailFolder {
      warnings.append("mails are written to the folder \(folder.path) and not sent")
    }
    if configuration.listener.allowsCleartext, configuration.listener.tls == nil {
      warnings.append("passwords and tokens may cross the network in clear")
    }
    if configuration.limits == ServerLimits.none { warnings.append("nothing limits sign-ins, sign-ups and mails") }
    if configuration.trustedProxies.ranges.contains(where: \.isWide) {
      warnings.append(
        "a large part of all clients is a trusted proxy, and may say where it comes from: limits by address hold nothing"
      )
    }
    let link = configuration.mail.link.flatMap {
      URLComponents(string: $0.replacing("{token}", with: "t").replacing("{action}", with: "a"))
    }
    if let link, link.scheme?.lowercased() == "http", !Loopback.contains(host: link.host ?? "") {
      warnings.append("mailed links cross the network in clear")
    }
    if case .host(let host, _)? = metrics, !Loopback.contains(host: host) {
      warnings.append("anyone who can reach \(host) can read the metrics")
    }
    if let formerIssuer, formerIssuer != configuration.issuerIdentifier {
      warnings.append(
        "the issuer was \(formerIssuer.onOneLine) when this data folder was last served, and is \(configuration.issuerIdentifier) now: a changed issuer signs everyone out"
      )
    }
    if let header = values["proxy-header"], values["trusted-proxies"] == nil {
      warnings.append("\(header.place) has no effect without --trusted-proxies: all clients count as the proxy")
    }
    if URLComponents(string: issuer)?.user != nil {
      warnings.append("the issuer has a user name, which no client expects")
    }
    for (idle, absolute, what) in [
      (limits.idleLimit, limits.absoluteLimit, "sessions"),
      (limits.browserIdleLimit, limits.browserAbsoluteLimit, "sessions of browsers"),
      (limits.guestIdleLimit, limits.absoluteLimit, "sessions of guests"),
      (limits.ephemeralIdleLimit, nil, "sessions that are not stored"),
    ] {
      if let idle, idle <= configuration.accessTokenLife, what != "sessions of browsers" {
        warnings.append("the idle limit of \(what) ends those in use: clients refresh once per access-token-life")
      }
      guard let idle, let absolute, idle > absolute else { continue }
      warnings.append("the idle limit of \(what) is longer than the absolute one, and has no effect")
    }
    if let database = values["database"], database.place.hasPrefix("--"), hasPassword(database.text) {
      warnings.append(
        "the password in --database is visible to every user of this machine: use HANDSTAMP_SERVE_DATABASE")
    }
    for client in configuration.clients where client.codeProtection == .none {
      warnings.append(
        "client \(client.id) has neither PKCE nor a nonce: its secret alone protects a code that is taken")
    }
    var secrets = ["keys-file", "admin-token-file", "smtp-password-file", "tls-key"].compactMap { values[$0]?.text }
    if let database = values["database"], let file, hasPassword(database.text), database.place.contains(file) {
      secrets.append(file)
    }
    for path in secrets {
      guard let facts = FileFacts(path), facts.mode & 0o004 != 0 else { continue }
      warnings.append("every user of this machine can read \(path): chmod o-r \(path)")
    }
    return warnings
  }

  private func hasPassword(_ address: String) -> Bool {
    address.contains("password=") || URLComponents(string: address)?.password != nil
  }
}

extension ServeSettings {
  /// Fetches the files that name apps, from where the systems of Apple and Google do. Returns warnings, each with a hint.
  func missingAssociations(
    _ transport: any Transport
  ) async -> [(warning: String, hint: String)] {
    let wanted: [AppAssociation.System: Set<String>] = [
      .apple: Set(configuration.appleApps.map(\.id)),
      .android: Set(configuration.androidApps.map { "\($0.package)=\($0.fingerprint)" }),
    ]
    var origins = [Origin(issuer)].compactMap { $0 }
    if case .domain(let domain) = configuration.passkeys, let own = origins.first, own.host != domain {
      origins.append(Origin(scheme: "https", host: domain, port: 443))
    }
    var warnings: [(warning: String, hint: String)] = []
    for system in AppAssociation.System.allCases {
      guard let apps = wanted[system], !apps.isEmpty else { continue }
      for origin in origins {
        let file = AppAssociation(system: system, origin: origin)
        let words: String
        switch await file.outcome(transport) {
        case .apps(let named) where apps.isSubset(of: named): continue
        case .apps(let named): words = "does not name \(apps.subtracting(named).sorted().joined(separator: ", "))"
        case .absent: words = "is missing"
        case .refused(let reason): words = reason
        }
        let name = host.contains(":") ? "[\(host)]" : host
        warnings.append(
          (
            "\(file.address) \(words)",
            "start the server with these settings, and let the proxy of \(origin.host) pass that path on, in nginx: "
              + "location = \(file.path) { proxy_pass http://\(name):\(port); }"
          ))
      }
    }
    return warnings
  }
}
#endif
