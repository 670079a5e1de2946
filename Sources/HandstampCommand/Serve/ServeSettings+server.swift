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
      let hint =
        switch error {
        case .databaseMissing, .databaseEmpty, .tablesMissing: keys == nil ? error.hint : ServeSettings.firstStart
        default: error.hint
        }
      throw Refusal(.failure, plain("\(error)"), hint: plain(hint))
    }
  }

  private static let firstStart =
    "restore the database; if these keys never had one, run once: handstamp serve --data DIR --new-database"

  /// Creates the database for keys that are kept elsewhere.
  func createDatabase() async throws(Refusal) {
    guard let keys else {
      throw Refusal(
        .usage, "--new-database is for keys in HANDSTAMP_SERVE_KEYS",
        hint: "omit it; the first start creates keys and database")
    }
    do throws(RegistryOpenError) { try await database.create(keys: keys) } catch {
      throw Refusal(.failure, plain("\(error)"), hint: plain(error.hint))
    }
  }

  var signingKeyFile: SigningKeyFile { SigningKeyFile(path: data + "/signing.pem") }

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
    let signing = try signingKeyFile.keys()
    if !signing.algorithms.contains(.rs256) {
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
      throw refusal("\(fault)", "app-config")
    } catch let fault as ClientFault {
      throw Refusal(.usage, fault.words, hint: ServeSettings.hint(of: "clients"))
    } catch let fault as PageSettingsFault {
      if case .accent = fault { throw refusal("\(fault)", "accent") }
      throw refusal("\(fault)", "pages")
    } catch let fault as MountPathFault {
      throw refusal("\(fault)", "issuer")
    } catch let fault as WebOriginFault {
      throw refusal("\(fault)", "web-origins")
    } catch let fault as PasskeyDomainFault {
      throw refusal("\(fault)", "passkey-domain")
    } catch is MailSetUpFault {
      throw refusal("cannot send mails from handstamp@ followed by the issuer's host", "mail-from")
    }
  }

  private static func refusal(_ message: String, _ setting: String) -> Refusal {
    Refusal(.usage, plain(message), hint: ServeSettings.hint(of: setting))
  }
}
#endif
