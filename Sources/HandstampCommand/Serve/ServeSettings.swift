#if Programs
import Foundation
import HandstampAsyncHTTP
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import Logging

/// What an operator decides: each setting from a flag, else the environment, else the file, else its default.
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
    case logLevel = "log-level"

    var flag: String { "--" + rawValue }
    var variable: String {
      ServeSettings.prefix + rawValue.uppercased().replacingOccurrences(of: "-", with: "_")
    }
  }

  static let prefix = "HANDSTAMP_SERVE_"

  /// A text and where it stands.
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
  let logLevel: Logger.Level
  /// The keys, where they are kept elsewhere than in the folder.
  let keys: ServerKeys?

  /// The variable that may hold the text of a key file. There is no flag for it: other users could read that.
  static let keysVariable = prefix + "KEYS"

  init(flags: [Key: String], environment: [String: String], file: String?) throws(Refusal) {
    var values = try file.map { path throws(Refusal) in try ServeSettings.values(inFile: path) } ?? [:]
    for (name, text) in environment where name.hasPrefix(ServeSettings.prefix) && name != ServeSettings.keysVariable {
      guard let key = Key.allCases.first(where: { $0.variable == name }) else {
        throw Refusal(
          .usage, "there is no setting \(name)",
          hint: "there are: \(Key.allCases.map(\.variable).joined(separator: ", "))")
      }
      values[key] = Value(text: text, place: name)
    }
    for (key, text) in flags { values[key] = Value(text: text, place: key.flag) }

    func refuse(_ key: Key, _ what: String) -> Refusal {
      let value = values[key]
      return Refusal(.usage, "\(value?.place ?? key.flag): \(value?.text ?? "") is \(what)", hint: key.hint)
    }
    func span(_ key: Key, or fallback: Duration) throws(Refusal) -> Duration {
      guard let value = values[key] else { return fallback }
      guard let span = Span(argument: value.text), span.duration >= .seconds(1) else {
        throw refuse(key, "no duration from 1s up")
      }
      return span.duration
    }

    guard let data = values[.data]?.text, !data.isEmpty else {
      throw Refusal(.usage, "the folder of the server is not named", hint: "add --data DIR")
    }
    self.data = data
    let host = values[.host]?.text ?? "127.0.0.1"
    guard !host.isEmpty, !host.contains("/") else { throw refuse(.host, "no address") }
    self.host = host
    guard let port = Int(values[.port]?.text ?? "8080"), (0...65_535).contains(port) else {
      throw refuse(.port, "no port")
    }
    self.port = port
    let issuer = values[.issuer]?.text ?? "http://\(host)" + (port == 0 ? "" : ":\(port)")
    guard let parts = URLComponents(string: issuer), ["http", "https"].contains(parts.scheme), parts.host != nil,
      parts.query == nil, !issuer.hasSuffix("/")
    else { throw refuse(.issuer, "no issuer") }
    self.issuer = issuer
    accessTokenLife = try span(.accessTokenLife, or: .seconds(600))
    let standard = RegistryLimits()
    limits = RegistryLimits(
      absoluteLimit: try span(.absoluteLimit, or: standard.absoluteLimit ?? .seconds(365 * 86_400)),
      idleLimit: try span(.idleLimit, or: standard.idleLimit ?? .seconds(90 * 86_400)),
      retention: try span(.retention, or: standard.retention),
      maxSessions: try values[.maxSessions].map { value throws(Refusal) in
        guard let count = Int(value.text), count >= 1 else { throw refuse(.maxSessions, "no number from 1 up") }
        return count
      })
    let isLoopback = host == "localhost" || host == "::1" || host.hasPrefix("127.")
    guard
      let signUp = ServerConfiguration.SignUp(rawValue: values[.signUp]?.text ?? (isLoopback ? "open" : "confirmed"))
    else { throw refuse(.signUp, "neither open nor confirmed nor closed") }
    self.signUp = signUp
    switch (values[.mailFolder]?.text, values[.sendmail]?.text) {
    case (nil, nil): mailer = MailFolder(path: data + "/mail")
    case (let folder?, nil):
      guard !folder.isEmpty else { throw refuse(.mailFolder, "no folder") }
      mailer = MailFolder(path: folder)
    case (nil, let program?):
      guard program.hasPrefix("/"), access(program, X_OK) == 0 else { throw refuse(.sendmail, "no program") }
      mailer = Sendmail(program: program)
    case (.some, .some):
      throw Refusal(.usage, "mails go to a folder or to a program, not to both", hint: "take one of the two away")
    }
    mailFrom = values[.mailFrom]?.text
    if let mailFrom, Mailbox(mailFrom) == nil { throw refuse(.mailFrom, "no plain address") }
    mailLink = values[.mailLink]?.text
    if let mailLink {
      let isLine = mailLink.unicodeScalars.allSatisfy { $0.value > 32 && $0.value != 127 }
      guard isLine, mailLink.contains("{token}") else { throw refuse(.mailLink, "no address with {token} in it") }
    }
    let issuerOfTokens = values[.appleIssuer]?.text ?? AppleSignIn.issuer
    guard !issuerOfTokens.isEmpty else { throw refuse(.appleIssuer, "no issuer") }
    let keysURL = values[.appleKeysURL]?.text ?? AppleSignIn.keysURL
    guard let keys = URLComponents(string: keysURL), ["http", "https"].contains(keys.scheme), keys.host != nil else {
      throw refuse(.appleKeysURL, "no address of keys")
    }
    apple = try values[.appleClientID].map { value throws(Refusal) in
      let ids = value.text.split(separator: ",", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      guard !ids.contains("") else { throw refuse(.appleClientID, "no list of ids") }
      return AppleSignIn(
        clientIDs: Set(ids), issuer: issuerOfTokens, keysURL: keysURL, transport: AsyncHTTPTransport())
    }
    guard let logLevel = Logger.Level(rawValue: values[.logLevel]?.text ?? "info") else {
      throw refuse(.logLevel, "no level")
    }
    self.logLevel = logLevel
    self.keys = try environment[ServeSettings.keysVariable].map { text throws(Refusal) in
      do throws(RegistryOpenError) {
        return try KeyFile.keys(text: Secret(text), named: ServeSettings.keysVariable)
      } catch {
        throw Refusal(
          .usage, plain("\(error)"), hint: "set \(ServeSettings.keysVariable) to the whole text of a keys.json")
      }
    }
    clients = try values[.clients].map { value throws(Refusal) in try ClientFile.clients(at: value.text) } ?? []
    if let path = values[.appConfig]?.text {
      guard let content = FileManager.default.contents(atPath: path) else {
        throw refuse(.appConfig, "no file that can be read")
      }
      appConfig = String(decoding: content, as: UTF8.self)
    } else {
      appConfig = "{}"
    }
  }

  private static func values(inFile path: String) throws(Refusal) -> [Key: Value] {
    guard let content = FileManager.default.contents(atPath: path) else {
      throw Refusal(.usage, "--config: \(path) cannot be read", hint: "name a JSON file that can")
    }
    guard let object = try? JSONSerialization.jsonObject(with: content) as? [String: Any] else {
      throw Refusal(.usage, "--config: \(path) is no JSON object", hint: #"write it as {"data": "/var/lib/handstamp"}"#)
    }
    var values: [Key: Value] = [:]
    for (name, value) in object {
      guard let key = Key(rawValue: name) else {
        throw Refusal(
          .usage, "\(path): there is no setting \(name)",
          hint: "there are: \(Key.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      guard let text = value as? String ?? (value as? Int).map({ String($0) }) else {
        throw Refusal(.usage, "\(path): \(name) is neither text nor number", hint: key.hint)
      }
      values[key] = Value(text: text, place: "\(path), \(name)")
    }
    return values
  }
}

extension ServeSettings.Key {
  /// What to write instead.
  var hint: String {
    switch self {
    case .data: "name a folder of the server's own"
    case .host: "an IP address or a name of this machine, such as 127.0.0.1"
    case .port: "a number from 0 to 65535, 0 for any free one"
    case .issuer: "an https address without a slash at its end, such as https://id.example.org"
    case .accessTokenLife, .idleLimit, .absoluteLimit, .retention: "write it as 90s, 10m, 12h or 30d"
    case .maxSessions: "leave it out for any number, or write one such as 20"
    case .appleClientID: "the bundle id of your app, or several ids with commas between them"
    case .appleIssuer: "leave it out, or name the issuer of a stand-in's tokens"
    case .appleKeysURL: "leave it out, or name the address of a stand-in's keys"
    case .signUp: "write open, confirmed or closed"
    case .mailFolder: "name a folder for mails, which is made when it is missing"
    case .sendmail: "name the system's mail program, such as /usr/sbin/sendmail"
    case .mailFrom: "an address such as accounts@example.org"
    case .mailLink: "an address of your app or page, such as https://app.example.org/{action}#{token}"
    case .clients: ClientFile.hint
    case .appConfig: "name a file with a JSON object"
    case .logLevel: "one of trace, debug, info, notice, warning, error"
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
    "put the database back; if there never was one for these keys, run once: handstamp serve --data DIR --new-database"

  /// Makes the database for keys that are kept elsewhere.
  func createDatabase() throws(Refusal) {
    guard let keys else {
      throw Refusal(
        .usage, "--new-database is for keys in \(ServeSettings.keysVariable)",
        hint: "leave it out: the first start makes keys and database")
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

  /// The server, with the signing keys of its folder.
  ///
  /// - Parameter trustingClock: for this start alone, so it is no setting.
  func server(
    store: SQLiteRegistryStore, keys: ServerKeys, trustingClock: Bool
  ) async throws -> SessionServer {
    let configuration = ServerConfiguration(
      issuer: issuer, accessTokenLife: accessTokenLife, signUp: signUp, clients: clients, mailFrom: mailFrom,
      mailLink: mailLink,
      appConfig: appConfig, logger: logger, trustsClock: trustingClock)
    let registry = Registry(store: store, mint: TokenMint(keys.master), limits: limits)
    let signing = try SigningKeyFile(path: data + "/signing.pem").keys()
    do {
      return try await SessionServer(
        configuration: configuration, registry: registry, keys: signing, mailer: mailer, apple: apple)
    } catch let fault as AppConfigFault {
      throw Refusal(.usage, plain("\(fault)"), hint: Key.appConfig.hint)
    } catch let fault as ClientFault {
      throw Refusal(.usage, fault.words, hint: Key.clients.hint)
    } catch is MailSetUpFault {
      throw Refusal(.usage, "mails from handstamp@ and the issuer's host cannot be sent", hint: Key.mailFrom.hint)
    }
  }
}
#endif
