#if Operator
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import Logging

extension ServeSettings {
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

  /// Creates the database for keys that are kept elsewhere.
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
    let signing = try signingKeys()
    if needsRSA, !signing.algorithms.contains(.rs256) {
      logger.warning("No RSA key: signing.pem has none and may not be changed")
    }
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
    let signing = try signingKeys()
    try await ServeSettings.explained {
      try await server.reload(
        configuration(logger: server.configuration.logger), registry: registry, keys: signing, mailer: mailer,
        apple: apple)
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
