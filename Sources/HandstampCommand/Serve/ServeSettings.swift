#if Programs
import Foundation
import HandstampAsyncHTTP
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampSQLite
import Logging

/// The operator's settings, each from a flag, else the environment, else the file, else its default.
struct ServeSettings {
  enum Key: String, CaseIterable {
    case data, host, port, issuer
    case accessTokenLife = "access-token-life"
    case idleLimit = "idle-limit"
    case absoluteLimit = "absolute-limit"
    case maxSessions = "max-sessions"
    case signUp = "sign-up"
    case mailFolder = "mail-folder"
    case sendmail
    case mailFrom = "mail-from"
    case mailLink = "mail-link"
    case retention
    case appleClientID = "apple-client-id"
    case appleIssuer = "apple-issuer"
    case appleKeysURL = "apple-keys-url"
    case clients
    case appConfig = "app-config"
    case rateLimits = "rate-limits"
    case trustedProxies = "trusted-proxies"
    case proxyHeader = "proxy-header"
    case logLevel = "log-level"
    case tlsCertificate = "tls-certificate"
    case tlsKey = "tls-key"
    case allowCleartext = "allow-cleartext"

    var flag: String { "--" + rawValue }
    var variable: String {
      ServeSettings.prefix + rawValue.uppercased().replacingOccurrences(of: "-", with: "_")
    }
  }

  static let prefix = "HANDSTAMP_SERVE_"

  /// A value and where it comes from.
  private struct Value {
    var text: String
    var place: String
  }

  let data: String
  let host: String
  let port: Int
  let issuer: String
  let accessTokenLife: Duration
  let limits: RegistryLimits
  let signUp: ServerConfiguration.SignUp
  let mailer: any Mailer
  let mailFrom: String?
  let mailLink: String?
  let apple: AppleSignIn?
  let clients: [ConfiguredClient]
  let appConfig: String
  let rateLimits: ServerLimits
  let proxies: TrustedProxies
  let logLevel: Logger.Level
  let tls: TLSFiles?
  let allowsCleartext: Bool
  /// The keys, if they are not kept in the data folder.
  let keys: ServerKeys?

  /// The variable that may hold the text of a key file. There is no flag for it, because other users could read that.
  static let keysVariable = prefix + "KEYS"

  init(flags: [Key: String], environment: [String: String], file: String?) throws(Refusal) {
    var values = try file.map { path throws(Refusal) in try ServeSettings.values(inFile: path) } ?? [:]
    for (name, text) in environment where name.hasPrefix(ServeSettings.prefix) && name != ServeSettings.keysVariable {
      guard let key = Key.allCases.first(where: { $0.variable == name }) else {
        throw Refusal(
          .usage, "unknown setting \(name)",
          hint: "use one of: \(Key.allCases.map(\.variable).joined(separator: ", "))")
      }
      values[key] = Value(text: text, place: name)
    }
    for (key, text) in flags { values[key] = Value(text: text, place: key.flag) }

    func refuse(_ key: Key, _ what: String) -> Refusal {
      let value = values[key]
      return Refusal(.usage, "\(value?.place ?? key.flag): \"\(value?.text ?? "")\" is not \(what)", hint: key.hint)
    }
    func span(_ key: Key, or fallback: Duration) throws(Refusal) -> Duration {
      guard let value = values[key] else { return fallback }
      guard let span = Span(argument: value.text), span.duration >= .seconds(1) else {
        throw refuse(key, "a duration of at least 1s")
      }
      return span.duration
    }

    guard let data = values[.data]?.text, !data.isEmpty else {
      throw Refusal(.usage, "missing data folder", hint: "add --data DIR")
    }
    self.data = data
    let host = values[.host]?.text ?? "127.0.0.1"
    guard !host.isEmpty, !host.contains("/") else { throw refuse(.host, "a valid address") }
    self.host = host
    guard let port = Int(values[.port]?.text ?? "8080"), (0...65_535).contains(port) else {
      throw refuse(.port, "a port number")
    }
    self.port = port
    switch (values[.tlsCertificate]?.text, values[.tlsKey]?.text) {
    case (nil, nil): tls = nil
    case (let certificate?, let key?): tls = TLSFiles(certificate: certificate, key: key)
    case (.some, nil): throw Refusal(.usage, "--tls-certificate needs its key", hint: "add --tls-key FILE")
    case (nil, .some): throw Refusal(.usage, "--tls-key needs its certificate", hint: "add --tls-certificate FILE")
    }
    guard let allowsCleartext = ["yes": true, "no": false][values[.allowCleartext]?.text ?? "no"] else {
      throw refuse(.allowCleartext, "yes or no")
    }
    self.allowsCleartext = allowsCleartext
    let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    let issuer =
      values[.issuer]?.text ?? "\(tls == nil ? "http" : "https")://\(name)" + (port == 0 ? "" : ":\(port)")
    guard let parts = URLComponents(string: issuer), ["http", "https"].contains(parts.scheme), parts.host != nil,
      parts.query == nil, !issuer.hasSuffix("/")
    else { throw refuse(.issuer, "a valid issuer") }
    self.issuer = issuer
    accessTokenLife = try span(.accessTokenLife, or: .seconds(600))
    let standard = RegistryLimits()
    limits = RegistryLimits(
      absoluteLimit: try span(.absoluteLimit, or: standard.absoluteLimit ?? .seconds(365 * 86_400)),
      idleLimit: try span(.idleLimit, or: standard.idleLimit ?? .seconds(90 * 86_400)),
      retention: try span(.retention, or: standard.retention),
      maxSessions: try values[.maxSessions].map { value throws(Refusal) in
        guard let count = Int(value.text), count >= 1 else { throw refuse(.maxSessions, "a number of at least 1") }
        return count
      })
    let isLoopback = Loopback.contains(host: host)
    guard
      let signUp = ServerConfiguration.SignUp(rawValue: values[.signUp]?.text ?? (isLoopback ? "open" : "confirmed"))
    else { throw refuse(.signUp, "one of open, confirmed and closed") }
    self.signUp = signUp
    switch (values[.mailFolder]?.text, values[.sendmail]?.text) {
    case (nil, nil): mailer = MailFolder(path: data + "/mail")
    case (let folder?, nil):
      guard !folder.isEmpty else { throw refuse(.mailFolder, "a folder") }
      mailer = MailFolder(path: folder)
    case (nil, let program?):
      guard program.hasPrefix("/"), access(program, X_OK) == 0 else { throw refuse(.sendmail, "an executable program") }
      mailer = Sendmail(program: program)
    case (.some, .some):
      throw Refusal(.usage, "--mail-folder and --sendmail cannot be combined", hint: "drop one of them")
    }
    mailFrom = values[.mailFrom]?.text
    if let mailFrom, Mailbox(mailFrom) == nil { throw refuse(.mailFrom, "a plain email address") }
    mailLink = values[.mailLink]?.text
    if let mailLink {
      let isLine = mailLink.unicodeScalars.allSatisfy { $0.value > 32 && $0.value != 127 }
      guard isLine, mailLink.contains("{token}") else { throw refuse(.mailLink, "a URL that contains {token}") }
    }
    let issuerOfTokens = values[.appleIssuer]?.text ?? AppleSignIn.issuer
    guard !issuerOfTokens.isEmpty else { throw refuse(.appleIssuer, "a valid issuer") }
    let keysURL = values[.appleKeysURL]?.text ?? AppleSignIn.keysURL
    guard let keys = URLComponents(string: keysURL), ["http", "https"].contains(keys.scheme), keys.host != nil else {
      throw refuse(.appleKeysURL, "a valid URL")
    }
    apple = try values[.appleClientID].map { value throws(Refusal) in
      let ids = value.text.split(separator: ",", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      guard !ids.contains("") else { throw refuse(.appleClientID, "a list of app IDs") }
      return AppleSignIn(
        clientIDs: Set(ids), issuer: issuerOfTokens, keysURL: keysURL, transport: AsyncHTTPTransport())
    }
    switch values[.rateLimits]?.text ?? "standard" {
    case "standard": rateLimits = .standard
    case "none": rateLimits = .none
    default: throw refuse(.rateLimits, "one of standard and none")
    }
    guard let proxyHeader = TrustedProxies.Field(rawValue: values[.proxyHeader]?.text ?? "x-forwarded-for") else {
      throw refuse(.proxyHeader, "one of x-forwarded-for and forwarded")
    }
    var proxies = TrustedProxies(field: proxyHeader)
    for text in values[.trustedProxies]?.text.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
      let text = text.trimmingCharacters(in: .whitespaces)
      if text == "unix" {
        proxies.trustsUnixSockets = true
      } else if let range = AddressRange(text) {
        proxies.ranges.append(range)
      } else {
        throw refuse(.trustedProxies, "a list of addresses")
      }
    }
    self.proxies = proxies
    guard let logLevel = Logger.Level(rawValue: values[.logLevel]?.text ?? "info") else {
      throw refuse(.logLevel, "a log level")
    }
    self.logLevel = logLevel
    self.keys = try environment[ServeSettings.keysVariable].map { text throws(Refusal) in
      do throws(RegistryOpenError) {
        return try KeyFile.keys(text: Secret(text), named: ServeSettings.keysVariable)
      } catch {
        throw Refusal(
          .usage, plain("\(error)"), hint: "set \(ServeSettings.keysVariable) to the full text of a keys.json")
      }
    }
    clients = try values[.clients].map { value throws(Refusal) in try ClientFile.clients(at: value.text) } ?? []
    if let path = values[.appConfig]?.text {
      guard let content = FileManager.default.contents(atPath: path) else {
        throw refuse(.appConfig, "a readable file")
      }
      appConfig = String(decoding: content, as: UTF8.self)
    } else {
      appConfig = "{}"
    }
  }

  private static func values(inFile path: String) throws(Refusal) -> [Key: Value] {
    guard let content = FileManager.default.contents(atPath: path) else {
      throw Refusal(.usage, "--config: cannot read \(path)", hint: "name a readable JSON file")
    }
    guard let object = try? JSONSerialization.jsonObject(with: content) as? [String: Any] else {
      throw Refusal(
        .usage, "--config: \(path) is not a JSON object", hint: #"write it as {"data": "/var/lib/handstamp"}"#)
    }
    var values: [Key: Value] = [:]
    for (name, value) in object {
      guard let key = Key(rawValue: name) else {
        throw Refusal(
          .usage, "\(path): unknown setting \(name)",
          hint: "use one of: \(Key.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      guard let text = value as? String ?? (value as? Int).map({ String($0) }) else {
        throw Refusal(.usage, "\(path): \(name) must be a string or a number", hint: key.hint)
      }
      values[key] = Value(text: text, place: "\(path), \(name)")
    }
    return values
  }
}

extension ServeSettings.Key {
  /// A hint with valid values.
  var hint: String {
    switch self {
    case .data: "use a folder for this server only"
    case .host: "use an IP address or a name of this machine, such as 127.0.0.1"
    case .port: "use a number from 0 to 65535; 0 picks a free port"
    case .issuer: "use an https URL without a trailing slash, such as https://id.example.org"
    case .accessTokenLife, .idleLimit, .absoluteLimit, .retention: "write it as 90s, 10m, 12h or 30d"
    case .maxSessions: "use a number such as 20, or omit it for no limit"
    case .appleClientID: "use the bundle ID of your app, or several separated by commas"
    case .appleIssuer: "omit it, or use the issuer of a test server's tokens"
    case .appleKeysURL: "omit it, or use the URL of a test server's keys"
    case .signUp: "use open, confirmed or closed"
    case .mailFolder: "use a folder for mails; it is created if missing"
    case .sendmail: "use the system's mail program, such as /usr/sbin/sendmail"
    case .mailFrom: "use an address such as accounts@example.org"
    case .mailLink: "use a URL of your app or page, such as https://app.example.org/{action}#{token}"
    case .clients: ClientFile.hint
    case .appConfig: "use a file with a JSON object"
    case .rateLimits: "use standard, or none on a private network"
    case .trustedProxies: "use the addresses of your proxies, such as 10.0.0.0/8,::1, and unix for Unix domain sockets"
    case .proxyHeader: "use the header field that your proxies write: x-forwarded-for or forwarded"
    case .tlsCertificate: "use a chain in PEM, such as certbot's fullchain.pem"
    case .tlsKey: "use a private key in PEM, such as certbot's privkey.pem"
    case .allowCleartext: "use yes only if nothing else can read the network"
    case .logLevel: "use one of trace, debug, info, notice, warning, error"
    }
  }
}

extension ServeSettings {
  func openFolder() throws(Refusal) -> (store: SQLiteRegistryStore, keys: ServerKeys) {
    do throws(RegistryOpenError) { return try ServerFolder(path: data).open(keys: keys) } catch {
      var hint = error.hint
      if keys != nil, case .databaseMissing = error { hint = ServeSettings.firstStart }
      if keys != nil, case .databaseEmpty = error { hint = ServeSettings.firstStart }
      throw Refusal(.failure, plain("\(error)"), hint: plain(hint))
    }
  }

  private static let firstStart =
    "restore the database; if these keys never had one, run once: handstamp serve --data DIR --new-database"

  /// Creates the database for keys that are kept elsewhere.
  func createDatabase() throws(Refusal) {
    guard let keys else {
      throw Refusal(
        .usage, "--new-database is for keys in \(ServeSettings.keysVariable)",
        hint: "omit it; the first start creates keys and database")
    }
    do throws(RegistryOpenError) { try ServerFolder(path: data).createDatabase(keys: keys) } catch {
      throw Refusal(.failure, plain("\(error)"), hint: plain(error.hint))
    }
  }

  var logger: Logger {
    var logger = Logger(label: "handstamp.server") { _ in JSONLines() }
    logger.logLevel = logLevel
    return logger
  }

  /// Returns the server, with the signing keys of its folder.
  ///
  /// - Parameter trustingClock: Applies to this start only, so it is not a setting.
  func server(
    store: SQLiteRegistryStore, keys: ServerKeys, trustingClock: Bool
  ) async throws -> SessionServer {
    let listener = ListenerOptions(tls: tls, allowsCleartext: allowsCleartext)
    let configuration = ServerConfiguration(
      issuer: issuer, accessTokenLife: accessTokenLife, signUp: signUp, clients: clients, mailFrom: mailFrom,
      mailLink: mailLink, appConfig: appConfig, limits: rateLimits, listener: listener, trustedProxies: proxies,
      logger: logger, trustsClock: trustingClock)
    let registry = Registry(store: store, mint: TokenMint(keys.master), limits: limits)
    let signing = try SigningKeyFile(path: data + "/signing.pem").keys()
    if !signing.algorithms.contains(.rs256) {
      configuration.logger.warning("No RSA key: signing.pem has none and may not be changed")
    }
    do {
      return try await SessionServer(
        configuration: configuration, registry: registry, keys: signing, mailer: mailer, apple: apple)
    } catch let fault as AppConfigFault {
      throw Refusal(.usage, plain("\(fault)"), hint: Key.appConfig.hint)
    } catch let fault as ClientFault {
      throw Refusal(.usage, fault.words, hint: Key.clients.hint)
    } catch is MailSetUpFault {
      throw Refusal(.usage, "cannot send mails from handstamp@ followed by the issuer's host", hint: Key.mailFrom.hint)
    }
  }
}
#endif
