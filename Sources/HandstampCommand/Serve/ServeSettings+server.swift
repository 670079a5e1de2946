#if Command
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampStorage
import Logging

extension ServeSettings {
  func openDatabase() async throws(Refusal) -> (store: any ServerStore, keys: ServerKeys) {
    do throws(RegistryOpenError) { return try await database.open(keys: keys) } catch {
      var hint = error.hint
      if keys != nil, case .databaseMissing = error { hint = ServeSettings.firstStart }
      if keys != nil, case .databaseEmpty = error { hint = ServeSettings.firstStart }
      if keys != nil, case .tablesMissing = error { hint = ServeSettings.firstStart }
      throw Refusal(.failure, plain("\(error)"), hint: plain(hint))
    }
  }

  private static let firstStart =
    "restore the database; if these keys never had one, run once: handstamp serve --data DIR --new-database"

  /// Creates the database for keys that are kept elsewhere.
  func createDatabase() async throws(Refusal) {
    guard let keys else {
      throw Refusal(
        .usage, "--new-database is for keys in \(ServeSetting.keys.variable)",
        hint: "omit it; the first start creates keys and database")
    }
    do throws(RegistryOpenError) { try await database.create(keys: keys) } catch {
      throw Refusal(.failure, plain("\(error)"), hint: plain(error.hint))
    }
  }

  var signingKeyFile: SigningKeyFile { SigningKeyFile(path: data + "/signing.pem") }

  /// - Parameter trustingClock: applies to this start only, so it is not a setting.
  func configuration(logger: Logger, trustingClock: Bool = false) -> ServerConfiguration {
    var configuration = ServerConfiguration(
      issuer: issuer, accessTokenLife: accessTokenLife, signUp: signUp, clients: clients,
      administrators: administrators, mailFrom: mailFrom, mailLink: mailLink, notices: notices,
      devicesLink: devicesLink, appConfig: appConfig, passwordPolicy: passwordPolicy,
      reauthentication: reauthentication, limits: rateLimits,
      listener: ListenerOptions(tls: tls, allowsCleartext: allowsCleartext), trustedProxies: proxies,
      logger: logger, trustsClock: trustingClock)
    configuration.mountPath = URLComponents(string: issuer)?.path ?? ""
    configuration.shutdownDelay = shutdownDelay
    configuration.transportSecurity = TransportSecurity(includesSubdomains: hstsSubdomains)
    configuration.logsAudit = logsAudit
    configuration.pages = pages
    configuration.passkeys = passkeys
    configuration.webOrigins = webOrigins
    return configuration
  }

  /// Returns the server, with the signing keys of its folder.
  func server(
    store: any ServerStore, keys: ServerKeys, logger: Logger, metrics: PrometheusMetrics, trustingClock: Bool
  ) async throws -> SessionServer {
    let registry = Registry(store: store, mint: TokenMint(keys.master), limits: limits)
    let signing = try signingKeyFile.keys()
    if !signing.algorithms.contains(.rs256) {
      logger.warning("No RSA key: signing.pem has none and may not be changed")
    }
    var configuration = configuration(logger: logger, trustingClock: trustingClock)
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
    let signing = try signingKeyFile.keys()
    try await ServeSettings.explained {
      try await server.reload(
        configuration(logger: server.configuration.logger), registry: registry, keys: signing, mailer: mailer,
        apple: apple)
    }
  }

  func refusal(_ fault: ListenFault) -> Refusal {
    switch fault {
    case .cleartext(let address):
      Refusal(
        .usage, "serving \(address) in plain HTTP would send passwords and tokens unencrypted",
        hint:
          "add --tls-certificate and --tls-key, or --trusted-proxies with the address of the proxy that terminates TLS")
    case .address(let address, _):
      Refusal(
        .failure, "\(fault)",
        hint: address == metrics
          ? "choose another --metrics-address" : "choose another --host or --port; port 0 picks a free one")
    case .notListening: Refusal(.failure, "\(fault)", hint: fault.hint)
    case .tls: Refusal(.usage, plain("\(fault)"), hint: fault.hint)
    }
  }

  /// Makes a refusal of what the server does not accept.
  static func explained<Value>(_ make: () async throws -> Value) async throws -> Value {
    do {
      return try await make()
    } catch let fault as AppConfigFault {
      throw Refusal(.usage, plain("\(fault)"), hint: ServeSetting.appConfig.hint)
    } catch let fault as ClientFault {
      throw Refusal(.usage, fault.words, hint: ServeSetting.clients.hint)
    } catch let fault as PageSettingsFault {
      switch fault {
      case .accent: throw Refusal(.usage, plain("\(fault)"), hint: ServeSetting.accent.hint)
      case .file: throw Refusal(.usage, plain("\(fault)"), hint: ServeSetting.pages.hint)
      }
    } catch let fault as MountPathFault {
      throw Refusal(.usage, plain("\(fault)"), hint: ServeSetting.issuer.hint)
    } catch let fault as WebOriginFault {
      throw Refusal(.usage, plain("\(fault)"), hint: ServeSetting.webOrigins.hint)
    } catch let fault as PasskeyDomainFault {
      throw Refusal(.usage, plain("\(fault)"), hint: ServeSetting.passkeyDomain.hint)
    } catch is MailSetUpFault {
      throw Refusal(
        .usage, "cannot send mails from handstamp@ followed by the issuer's host", hint: ServeSetting.mailFrom.hint)
    }
  }
}
#endif
