#if Operator
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import HandstampServer
import HandstampSupport
import Logging

/// The operator's settings, checked. ``ServeSettings/all`` says which of them has which place here.
struct ServeSettings: Sendable {
  /// The values that were given, for `--check`.
  let values: SettingValues<ServeSettings>
  /// The file that settings were read from.
  let file: String?
  let data: String
  private(set) var database: ServerDatabase
  private(set) var mailer: any Mailer
  private(set) var certificateAuthorities: String?
  /// Whether only programs of this machine can reach the server, as far as the settings tell.
  private(set) var isPrivate = false
  var configuration = ServerConfiguration()
  var limits = RegistryLimits()
  var databaseConnections = 0
  var host = ""
  var port = 0
  var mailFolder: String?
  var sendmail: String?
  var allowsCleartextMail = false
  var clientDocumentScopes: [String] = []
  var registrationScopes: [String] = []
  var clientDocumentAudiences: [String] = []
  var appleClientIDs: Set<String> = []
  var appleIssuer = AppleSignIn.issuer
  var appleKeysURL = AppleSignIn.keysURL
  var appleTeam = ""
  var appleKeyID = ""
  var appleKey = ""
  var former = FormerSystem()
  /// Whether tokens of the former system were imported.
  var hasFormerTable = false
  /// The keys, if they are not kept in the data folder.
  var keys: ServerKeys?
  var metrics: ListeningAddress?
  var logLevel = Logger.Level.info

  init(flags: [String: String], environment: [String: String], file: String?) throws(CommandError) {
    self.init(try SettingValues<ServeSettings>(flags: flags, environment: environment, file: file), file: file)
    try BuildPart.check(values)
    guard !data.isEmpty else { throw CommandError(.usage, "missing data folder", hint: "add --data DIR") }
    let authorities = values["ca-certificates"] == nil ? ProcessEnvironment["SSL_CERT_FILE"] : nil
    try values.requireOwn([file, authorities, issuerFile].compactMap { $0 })
    for setting in ServeSettings.all { try setting.apply(values, &self) }
    try combine(environment: environment)
  }

  private init(_ values: SettingValues<ServeSettings>, file: String?) {
    (self.values, self.file) = (values, file)
    data = values["data"]?.text ?? ""
    database = .folder(ServerFolder(path: data))
    mailer = MailFolder(path: data + "/mail")
  }

  /// Returns the server's policy for passwords, as far as the environment has it: for commands that share it.
  static func passwordPolicy(in environment: [String: String]) throws(CommandError) -> PasswordPolicy {
    let values = try SettingValues<ServeSettings>(flags: [:], environment: environment, file: nil)
    var settings = ServeSettings(values, file: nil)
    for setting in ServeSettings.all where ["minimum-password", "breached-passwords"].contains(setting.name) {
      try setting.apply(values, &settings)
    }
    return settings.configuration.passwords.policy
  }

  var issuer: String { configuration.issuer }

  var apple: AppleSignIn? {
    guard !appleClientIDs.isEmpty else { return nil }
    return AppleSignIn(
      clientIDs: appleClientIDs, issuer: appleIssuer, keysURL: appleKeysURL,
      key: AppleKey(team: appleTeam, id: appleKeyID, pem: appleKey),
      transport: CommandTransport.make(certificateAuthorities: certificateAuthorities))
  }

  /// Reads the settings that depend on others.
  private mutating func combine(environment: [String: String]) throws(CommandError) {
    do throws(RegistryOpenError) {
      database = try ServerDatabase(data: data, address: values["database"]?.text, connections: databaseConnections)
    } catch { throw CommandError(.usage, plain("\(error)"), hint: plain(error.hint)) }
    configuration.listener.tls = try certificate()
    try checkAppleKey()
    if values["issuer"] == nil {
      let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
      let scheme = configuration.listener.tls == nil ? "http" : "https"
      configuration.issuer = "\(scheme)://\(name)" + (port == 0 ? "" : ":\(port)")
    }
    configuration.mountPath = URLComponents(string: issuer)?.path ?? ""
    guard !configuration.hasIssuerSlash || configuration.mountPath.isEmpty else {
      throw values.refusal("issuer-slash", "for an issuer with a path")
    }
    let isHere = Loopback.contains(host: host) && environment["LISTEN_FDS"] == nil
    let isIssuerHere = Loopback.contains(host: URLComponents(string: issuer)?.host ?? "")
    isPrivate = isHere && isIssuerHere
    guard
      issuer.hasPrefix("https:") || configuration.listener.allowsCleartext || values["issuer"] == nil || isIssuerHere
    else { throw values.refusal("issuer", "an https URL, and tokens would cross the network in clear") }
    if former.isAsked || hasFormerTable {
      configuration.former = former
    } else if let given = ServeSettings.all.compactMap({ setting in
      setting.name.hasPrefix("former-") && setting.name != "former-sessions" ? values[setting.name] : nil
    }).first {
      throw CommandError(
        .usage, "\(given.place) needs a way to check sessions of the former system",
        hint: "add --former-introspection-url, --former-token-url, --former-gotrue-url or --former-sessions yes")
    }
    if values["sign-up"] == nil { configuration.signUp = isPrivate ? .open : .confirmed }
    certificateAuthorities = try authorities()
    configuration.webhookNetwork = .internet(certificateAuthorities: certificateAuthorities)
    func stranger(_ scopes: [String]) -> StrangerRights? {
      scopes.isEmpty ? nil : StrangerRights(scopes: scopes, audiences: clientDocumentAudiences)
    }
    configuration.clientRegistration = stranger(registrationScopes)
    if let rights = stranger(clientDocumentScopes), let source = configuration.webhookNetwork {
      configuration.clientDocuments = ClientDocumentSettings(rights: rights, source: source)
    } else if configuration.clientRegistration == nil, let given = values["client-document-audiences"] {
      throw CommandError(
        .usage, "\(given.place) is for clients with documents, or that register, which are off",
        hint: "add --client-documents SCOPES or --client-registration SCOPES")
    }
    let server = try smtp()
    guard [mailFolder != nil, sendmail != nil, server != nil].count(where: { $0 }) < 2 else {
      throw CommandError(.usage, "--mail-folder, --sendmail and --smtp cannot be combined", hint: "keep one of them")
    }
    if let mailFolder { mailer = MailFolder(path: mailFolder) }
    if let sendmail { mailer = Sendmail(program: sendmail) }
    if let server { mailer = server }
  }

  private func certificate() throws(CommandError) -> TLSFiles? {
    switch (values["tls-certificate"]?.text, values["tls-key"]?.text) {
    case (nil, nil): return nil
    case (let certificate?, let key?): return TLSFiles(certificate: certificate, key: key)
    case (.some, nil): throw CommandError(.usage, "--tls-certificate needs its key", hint: "add --tls-key FILE")
    case (nil, .some): throw CommandError(.usage, "--tls-key needs its certificate", hint: "add --tls-certificate FILE")
    }
  }

  private func checkAppleKey() throws(CommandError) {
    let names = ["apple-team-id", "apple-key-id", "apple-key"]
    let missing = names.filter { values[$0] == nil }
    guard missing.count < names.count else { return }
    if let name = missing.first ?? (appleClientIDs.isEmpty ? "apple-client-id" : nil) {
      throw CommandError(.usage, "Apple's key needs --\(name)", hint: "add --\(name), or leave out the key")
    }
    guard AppleKey(team: appleTeam, id: appleKeyID, pem: appleKey) != nil else {
      throw CommandError(
        .usage, "--apple-key: no key of P-256 in PEM", hint: "use the file AuthKey_….p8 that Apple gives out once")
    }
  }

  /// Returns the file of the authorities that the server trusts; `nil` trusts the system's.
  private func authorities() throws(CommandError) -> String? {
    let given = values["ca-certificates"]
    guard let path = given?.text ?? ProcessEnvironment["SSL_CERT_FILE"] else { return nil }
    guard TLSFiles.areCertificates(path) else {
      throw CommandError(
        .usage, "\(given?.place ?? "SSL_CERT_FILE"): no certificates in \(path)",
        hint: ServeSettings.hint(of: "ca-certificates"))
    }
    return path
  }

  private func smtp() throws(CommandError) -> SMTPMailer? {
    let (user, password) = (values["smtp-user"]?.text, try values.secret("smtp-password"))
    guard let url = values["smtp"]?.text else {
      guard password == nil, user == nil else {
        throw CommandError(.usage, "a user at a mail server needs the server", hint: "add --smtp smtps://HOST")
      }
      return nil
    }
    guard (password == nil) == (user == nil) else {
      throw CommandError(
        .usage, "a user at the mail server needs a password, and a password a user",
        hint: "set --smtp-user and HANDSTAMP_SERVE_SMTP_PASSWORD, or neither")
    }
    do throws(ServerConfigurationError) {
      return try SMTPMailer(
        url: url, user: user, password: password, certificates: certificateAuthorities,
        allowsCleartext: allowsCleartextMail)
    } catch {
      switch error {
      case .mailServerURLWithUser:
        throw CommandError(
          .usage, "\(error)",
          hint: "use --smtp-user and HANDSTAMP_SERVE_SMTP_PASSWORD")
      case .mailPasswordInClear:
        throw CommandError(
          .usage, "\(error)",
          hint: "drop --smtp-cleartext, or use a mail server on this machine")
      default: throw values.refusal("smtp", "the URL of a mail server")
      }
    }
  }

  func openDatabase() async throws(CommandError) -> (store: any ServerStore, keys: ServerKeys) {
    do throws(RegistryOpenError) { return try await database.open(keys: keys) } catch {
      let hint =
        switch error {
        case .databaseMissing, .databaseEmpty, .tablesMissing: keys == nil ? error.hint : ServeSettings.firstStart
        default: error.hint
        }
      throw CommandError(.failure, plain("\(error)"), hint: plain(hint))
    }
  }

  private static let firstStart =
    "restore the database; if these keys never had one, run once: handstamp-server serve --data DIR --new-database"

  /// Creates the database for keys that are kept elsewhere, which cannot note that they are in use. An argument of one run: a
  /// setting would stay in a unit file, and create an empty database where one is missing.
  func createDatabase() async throws(CommandError) {
    guard let keys else {
      throw CommandError(
        .usage, "--new-database is for keys in HANDSTAMP_SERVE_KEYS",
        hint: "omit it; the first start creates keys and database")
    }
    do throws(RegistryOpenError) { try await database.create(keys: keys) } catch {
      throw CommandError(.failure, plain("\(error)"), hint: plain(error.hint))
    }
  }

  var issuerFile: String { data + "/issuer" }

  /// The issuer that the data folder was last served with; `nil` if that is not known.
  var formerIssuer: String? {
    let content = try? PrivateFile.read(issuerFile, limit: 1 << 12)
    return content.map { String(decoding: $0.0, as: UTF8.self).trimmingCharacters(in: .newlines) }
  }

  /// Keeps the issuer for ``formerIssuer``, once the server listens.
  func noteIssuer(_ logger: Logger) {
    let issuer = configuration.issuerIdentifier
    guard formerIssuer != issuer else { return }
    do throws(RegistryOpenError) { try PrivateFile.replace(issuerFile, Data((issuer + "\n").utf8)) } catch {
      logger.warning("Issuer not noted", metadata: ["handstamp.cause": "\(error)"])
    }
  }

  /// Whether there is to be an RSA key. A server with OAuth clients has to support RS256 (RFC 9068 section 2.1, OpenID Connect Core 1.0
  /// section 15.1). Servers on one database have the key from the beginning, because they have copies of one file.
  var needsRSA: Bool {
    !configuration.clients.isEmpty || configuration.clientDocuments != nil || configuration.clientRegistration != nil
      || database.isShared
  }

  /// Returns the signing keys of the data folder, which are created the first time.
  func signingKeys() throws(CommandError) -> SigningKeys {
    try SigningKeyFile(path: data + "/signing.pem").keys(needsRSA: needsRSA)
  }

  private func signingKeys(logger: Logger) throws(CommandError) -> SigningKeys {
    let keys = try signingKeys()
    if needsRSA, !keys.algorithms.contains(.rs256) {
      logger.warning("No RSA key: signing.pem has none and may not be changed")
    }
    return keys
  }

  /// The URL that the server is reached at from here: by the issuer's name if that is another one for the same place, for a browser stays
  /// signed in at that one only.
  ///
  /// - Parameter port: 0 for a Unix domain socket.
  func url(at port: Int) -> String {
    guard port != 0 else { return issuer }
    let scheme = configuration.listener.tls == nil ? "http" : "https"
    let url = "\(scheme)://\(ListeningAddress.host(host, port: port))"
    guard let place = Origin(url), let named = Origin(issuer), named.isAlias(of: place) else { return url }
    return named.text
  }

  func configuration(logger: Logger) -> ServerConfiguration {
    var configuration: ServerConfiguration = self.configuration
    configuration.logger = logger
    return configuration
  }

  /// Returns the server, with the signing keys of its folder.
  func server(
    store: any ServerStore, keys: ServerKeys, logger: Logger, metrics: PrometheusMetrics
  ) async throws -> SessionServer {
    let registry = Registry(store: store, mint: TokenMint(keys.master), limits: limits)
    let signing = try signingKeys(logger: logger)
    var configuration = configuration(logger: logger)
    configuration.metrics = metrics
    return try await ServeSettings.explained {
      try await SessionServer(
        configuration: configuration, registry: registry, keys: signing,
        mailer: mailer, apple: apple, transport: CommandTransport.make(certificateAuthorities: certificateAuthorities))
    }
  }

  /// Gives these settings to a running server, as far as they can change while it runs.
  func apply(to server: SessionServer, store: any ServerStore, keys: ServerKeys) async throws {
    let registry = Registry(store: store, mint: TokenMint(keys.master), limits: limits)
    let signing = try signingKeys(logger: server.configuration.logger)
    do {
      try await ServeSettings.explained {
        try await server.reload(
          configuration(logger: server.configuration.logger), registry: registry, keys: signing, mailer: mailer,
          apple: apple)
      }
    } catch let fault as ListenError {
      var refusal = refusal(fault)
      refusal.hint += "; a certificate, as all that the listener has, needs a restart"
      throw refusal
    }
  }

  func refusal(_ fault: ListenError) -> CommandError {
    switch fault {
    case .cleartext(let address):
      CommandError(
        .usage, "serving \(address) in plain HTTP would send passwords and tokens unencrypted",
        hint:
          "add --tls-certificate and --tls-key, or --trusted-proxies with the address of the proxy that terminates TLS")
    case .address(let address, _):
      CommandError(
        .failure, "\(fault)",
        hint: address == metrics
          ? "choose another --metrics-address" : "choose another --host or --port; port 0 picks a free one")
    case .notListening: CommandError(.failure, "\(fault)", hint: fault.hint)
    case .unreadable, .certificate, .key, .mismatch, .missingTrait:
      CommandError(.usage, plain("\(fault)"), hint: fault.hint)
    }
  }

  /// Makes a refusal of what the server does not accept.
  static func explained<Value>(_ make: () async throws -> Value) async throws -> Value {
    do {
      return try await make()
    } catch let error as ServerConfigurationError {
      switch error {
      case .appConfig: throw refusal("\(error)", "app-config")
      case .client: throw CommandError(.usage, "\(error)", hint: ServeSettings.hint(of: "clients"))
      case .provider: throw refusal("\(error)", "providers")
      case .former: throw CommandError(.usage, plain("\(error)"), hint: ServeSettings.hint(of: "former-token-url"))
      case .accent: throw refusal("\(error)", "accent")
      case .pages: throw refusal("\(error)", "pages")
      case .mountPath: throw refusal("\(error)", "issuer")
      case .webOrigin: throw refusal("\(error)", "web-origins")
      case .appleApps: throw refusal("\(error)", "apple-apps")
      case .passkeyDomain: throw refusal("\(error)", "passkey-domain")
      case .assuranceWithoutPasskeys:
        throw CommandError(
          .usage, plain("\(error)"),
          hint: "give --issuer a host name, and --passkey-domain another value than none; or drop --require-assurance")
      case .breachedPasswords: throw refusal("\(error)", "breached-passwords")
      case .noMailer, .mailSender, .mailerCannotChange:
        throw refusal("cannot send mails from handstamp@ followed by the issuer's host", "mail-from")
      case .mailServerURL, .mailServerURLWithUser, .mailPasswordInClear, .directoryWithConfirmedSignUp,
        .directoryWithAppleSignIn, .administratorName, .administratorToken, .administratorHash, .signingKeys,
        .signingKeyFormat, .noRSAKey:
        throw error
      }
    }
  }

  private static func refusal(_ message: String, _ setting: String) -> CommandError {
    CommandError(.usage, plain(message), hint: ServeSettings.hint(of: setting))
  }
}
#endif
