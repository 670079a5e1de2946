#if Command
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampStorage
import Logging

/// The operator's settings, checked. See ``ServeSetting``.
struct ServeSettings: Sendable {
  /// What was given, for `--check`.
  let values: SettingValues
  let data: String
  let database: ServerDatabase
  let host: String
  let port: Int
  let issuer: String
  let accessTokenLife: Duration
  let limits: RegistryLimits
  let reauthentication: Duration
  let signUp: ServerConfiguration.SignUp
  let passwordPolicy: PasswordPolicy
  let mailer: any Mailer
  let mailFrom: String?
  let mailLink: String?
  let notices: Set<AccountNotice>
  let devicesLink: String?
  let administrators: [Administrator]
  let apple: AppleSignIn?
  let pages: PageSettings
  let passkeys: PasskeyDomain
  let webOrigins: [String]
  let clients: [ConfiguredClient]
  let appConfig: String
  let rateLimits: ServerLimits
  let proxies: TrustedProxies
  let metrics: ListeningAddress?
  let shutdownDelay: Duration
  let logLevel: Logger.Level
  /// The file that settings were read from.
  let file: String?
  let tls: TLSFiles?
  let certificateAuthorities: String?
  let allowsCleartext: Bool
  let hstsSubdomains: Bool
  let logsAudit: Bool
  /// Whether only programs of this machine can reach the server, as far as the settings tell.
  let isPrivate: Bool
  /// The keys, if they are not kept in the data folder.
  let keys: ServerKeys?

  init(
    flags: [ServeSetting: String], environment: [String: String], file: String?
  ) async throws(Refusal) {
    let values = try await SettingValues(flags: flags, environment: environment, file: file)
    self.values = values
    self.file = file
    try values.requireOwn(file)
    data = try values.required(.data)
    database = try values.database(data: data)
    host = try values.text(.host, or: "127.0.0.1") { !$0.isEmpty && !$0.contains("/") ? $0 : nil }
    port = try values.number(.port, in: 0...65_535) ?? 8080
    tls = try values.certificate()
    certificateAuthorities = try values.certificateAuthorities()
    hstsSubdomains = try values.choice(.hstsSubdomains, of: ["yes": true, "no": false]) ?? false
    logsAudit = try values.choice(.auditToLog, of: ["yes": true, "no": false]) ?? true
    allowsCleartext = try values.choice(.allowCleartext, of: ["yes": true, "no": false]) ?? false
    proxies = try values.proxies()
    issuer = try values.issuer(host: host, port: port, isSecure: tls != nil)
    let isHere = Loopback.contains(host: host) && environment["LISTEN_FDS"] == nil
    let isIssuerHere = Loopback.contains(host: URLComponents(string: issuer)?.host ?? "")
    isPrivate = isHere && isIssuerHere
    guard issuer.hasPrefix("https:") || allowsCleartext || values[.issuer] == nil || isIssuerHere else {
      throw values.refusal(.issuer, "an https URL, and tokens would cross the network in clear")
    }
    accessTokenLife = try values.duration(.accessTokenLife, upTo: .seconds(86_400)) ?? .seconds(600)
    limits = try values.registryLimits()
    reauthentication = try values.duration(.reauthenticateAfter, upTo: .seconds(3650 * 86_400)) ?? .seconds(15 * 60)
    signUp = try values.choice(.signUp) ?? (isPrivate ? .open : .confirmed)
    passwordPolicy = try values.passwordPolicy()
    mailer = try values.mailer(data: data)
    mailFrom = try values.optional(.mailFrom, "a plain email address") { Mailbox($0) == nil ? nil : $0 }
    mailLink = try values.optional(.mailLink, "a URL that contains {token}") { link in
      let isLine = link.unicodeScalars.allSatisfy { $0.value > 32 && $0.value != 127 }
      return isLine && link.contains("{token}") ? link : nil
    }
    notices = try values.notices()
    devicesLink = try values.optional(.devicesLink, "a URL") { link in
      URLComponents(string: link)?.host != nil && link.unicodeScalars.allSatisfy { $0.value > 32 } ? link : nil
    }
    administrators = try values.administrators()
    pages = try values.pages()
    passkeys = try values.passkeys()
    webOrigins = values.list(.webOrigins) ?? []
    apple = try values.apple()
    rateLimits = try values.choice(.rateLimits, of: ["standard": .standard, "none": .none]) ?? .standard
    metrics = try values.optional(.metricsAddress, "an address and a port") { ListeningAddress($0) }
    shutdownDelay = try values.duration(.shutdownDelay, upTo: .seconds(300)) ?? .zero
    logLevel =
      try values.choice(.logLevel, of: .init(uniqueKeysWithValues: Logger.Level.allCases.map { ($0.rawValue, $0) }))
      ?? .info
    keys = try values.keys()
    clients = try values[.clients].map { value throws(Refusal) in try ClientFile.clients(at: value.text) } ?? []
    appConfig =
      try values.optional(.appConfig, "a readable file") { path in
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
      } ?? "{}"
  }

}
#endif
