#if Command
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampSQLite
import HandstampStorage

/// The values of settings as types, or a refusal that names the source and the value.
extension SettingValues {
  func refusal(_ setting: ServeSetting, _ what: String) -> Refusal {
    let value = self[setting]
    return Refusal(
      .usage, "\(value?.place ?? setting.flag): \"\(value?.text ?? "")\" is not \(what)", hint: setting.hint)
  }

  func required(_ setting: ServeSetting) throws(Refusal) -> String {
    guard let text = self[setting]?.text, !text.isEmpty else {
      throw Refusal(.usage, "missing data folder", hint: "add --data DIR")
    }
    return text
  }

  func text(
    _ setting: ServeSetting, or fallback: String, _ check: (String) -> String?
  ) throws(Refusal) -> String {
    try optional(setting, "a valid address", check) ?? fallback
  }

  /// Returns what `parse` makes of the value; `nil` without a value.
  func optional<Value>(
    _ setting: ServeSetting, _ what: String, _ parse: (String) -> Value?
  ) throws(Refusal) -> Value? {
    guard let value = self[setting] else { return nil }
    guard let parsed = parse(value.text) else { throw refusal(setting, what) }
    return parsed
  }

  func number(_ setting: ServeSetting, in range: ClosedRange<Int>) throws(Refusal) -> Int? {
    try optional(setting, "a number from \(range.lowerBound) to \(range.upperBound)") { text in
      Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  func duration(_ setting: ServeSetting, upTo most: Duration) throws(Refusal) -> Duration? {
    try optional(setting, "a duration from 1s to \(most.words)") { text in
      Span(argument: text).flatMap { $0.duration >= .seconds(1) && $0.duration <= most ? $0.duration : nil }
    }
  }

  func choice<Value>(_ setting: ServeSetting, of choices: [String: Value]) throws(Refusal) -> Value? {
    try optional(setting, "one of \(choices.keys.sorted().joined(separator: ", "))") { choices[$0] }
  }

  func choice<Value: RawRepresentable<String> & CaseIterable>(_ setting: ServeSetting) throws(Refusal) -> Value? {
    try optional(setting, "one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))") { Value(rawValue: $0) }
  }

  func folder(_ setting: ServeSetting) throws(Refusal) -> String? {
    try optional(setting, "a folder") { path in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue ? path : nil
    }
  }

  /// Returns the parts of a list; `nil` without a value.
  func list(_ setting: ServeSetting) -> [String]? {
    self[setting]?.text.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.trimmingCharacters(in: .whitespaces)
    }
  }
}

extension SettingValues {
  func certificate() throws(Refusal) -> TLSFiles? {
    switch (self[.tlsCertificate]?.text, self[.tlsKey]?.text) {
    case (nil, nil): return nil
    case (let certificate?, let key?): return TLSFiles(certificate: certificate, key: key)
    case (.some, nil): throw Refusal(.usage, "--tls-certificate needs its key", hint: "add --tls-key FILE")
    case (nil, .some): throw Refusal(.usage, "--tls-key needs its certificate", hint: "add --tls-certificate FILE")
    }
  }

  func issuer(host: String, port: Int, isSecure: Bool) throws(Refusal) -> String {
    let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    let own = "\(isSecure ? "https" : "http")://\(name)" + (port == 0 ? "" : ":\(port)")
    return try optional(.issuer, "a valid issuer") { issuer in
      guard let parts = URLComponents(string: issuer), ["http", "https"].contains(parts.scheme), parts.host != nil,
        parts.query == nil, parts.fragment == nil, !issuer.hasSuffix("/")
      else { return nil }
      return issuer
    } ?? own
  }

  func proxies() throws(Refusal) -> TrustedProxies {
    var proxies = TrustedProxies(
      field: try choice(.proxyHeader) ?? .xForwardedFor)
    for text in list(.trustedProxies) ?? [] {
      if text == "unix" {
        proxies.trustsUnixSockets = true
      } else if let range = AddressRange(text) {
        proxies.ranges.append(range)
      } else {
        throw refusal(.trustedProxies, "a list of addresses")
      }
    }
    return proxies
  }

  func database(data: String) throws(Refusal) -> ServerDatabase {
    let connections = try number(.databaseConnections, in: 5...500)
    do throws(RegistryOpenError) {
      return try ServerDatabase(data: data, address: self[.database]?.text, connections: connections)
    } catch { throw Refusal(.usage, plain("\(error)"), hint: plain(error.hint)) }
  }

  func registryLimits() throws(Refusal) -> RegistryLimits {
    let standard = RegistryLimits()
    let longest = Duration.seconds(3650 * 86_400)
    return RegistryLimits(
      absoluteLimit: try duration(.absoluteLimit, upTo: longest) ?? standard.absoluteLimit,
      idleLimit: try duration(.idleLimit, upTo: longest) ?? standard.idleLimit,
      retention: try duration(.retention, upTo: longest) ?? standard.retention,
      auditRetention: try duration(.auditRetention, upTo: longest) ?? standard.auditRetention,
      addressRetention: try duration(.addressRetention, upTo: longest) ?? standard.addressRetention,
      maxSessions: try number(.maxSessions, in: 1...1_000_000),
      browserAbsoluteLimit: try duration(.browserAbsoluteLimit, upTo: longest) ?? standard.browserAbsoluteLimit,
      browserIdleLimit: try duration(.browserIdleLimit, upTo: longest) ?? standard.browserIdleLimit,
      guestIdleLimit: try duration(.guestIdleLimit, upTo: longest))
  }

  func passkeys() throws(Refusal) -> PasskeyDomain {
    switch try optional(.passkeyDomain, "a domain", { $0.isEmpty ? nil : $0 }) {
    case nil: .issuer
    case "none": .none
    case let domain?: .domain(domain.lowercased())
    }
  }

  /// Refuses files that say what the server does, if every user of the machine can write to them.
  ///
  /// - Parameter file: the file of settings.
  func requireOwn(_ file: String?) throws(Refusal) {
    let named = [
      ServeSetting.clients, .appConfig, .tlsCertificate, .tlsKey, .keysFile, .adminTokenFile, .smtpPasswordFile,
      .sendmail, .siteLogo, .breachedPasswords,
    ]
    var paths = [file, try certificateAuthorities()].compactMap { $0 } + named.compactMap { self[$0]?.text }
    if let folder = self[.pages]?.text {
      paths +=
        [folder] + ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).map { "\(folder)/\($0)" }
    }
    do throws(RegistryOpenError) { for path in paths { try PrivateFile.requireOwn(path) } } catch {
      throw Refusal(.usage, plain("\(error)"), hint: plain(error.hint))
    }
  }

  func pages() throws(Refusal) -> PageSettings {
    PageSettings(
      name: try optional(.siteName, "a name of 1 to 80 characters") { (1...80).contains($0.count) ? $0 : nil },
      logo: try optional(.siteLogo, "an image that can be read", SettingValues.image),
      accent: try optional(.accent, "a colour") { $0 },
      folder: try optional(.pages, "a folder") { path in
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue ? path : nil
      })
  }

  private static func image(_ path: String) -> PageSettings.Image? {
    let types = [
      "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp",
    ]
    guard let type = types[URL(fileURLWithPath: path).pathExtension.lowercased()],
      let content = FileManager.default.contents(atPath: path), (1...262_144).contains(content.count)
    else { return nil }
    return PageSettings.Image(bytes: Array(content), type: type)
  }

  func mailer(data: String) throws(Refusal) -> any Mailer {
    let folder = try optional(.mailFolder, "a folder") { $0.isEmpty ? nil : $0 }
    let program = try optional(.sendmail, "an executable program") { path in
      path.hasPrefix("/") && access(path, X_OK) == 0 ? path : nil
    }
    let server = try smtp()
    guard [folder != nil, program != nil, server != nil].count(where: { $0 }) < 2 else {
      throw Refusal(.usage, "--mail-folder, --sendmail and --smtp cannot be combined", hint: "keep one of them")
    }
    if let server { return server }
    if let program { return Sendmail(program: program) }
    return MailFolder(path: folder ?? data + "/mail")
  }

  /// The file of the authorities that the server trusts; `nil` trusts the system's.
  func certificateAuthorities() throws(Refusal) -> String? {
    let path = self[.caCertificates]?.text ?? ProcessEnvironment["SSL_CERT_FILE"]
    guard let path else { return nil }
    let content = FileManager.default.contents(atPath: path) ?? Data()
    guard content.range(of: Data("-----BEGIN CERTIFICATE-----".utf8)) != nil else {
      throw Refusal(
        .usage, "\(self[.caCertificates]?.place ?? "SSL_CERT_FILE"): no certificates in \(path)",
        hint: ServeSetting.caCertificates.hint)
    }
    return path
  }

  private func smtp() throws(Refusal) -> SMTPMailer? {
    let password = try secret(.smtpPassword)
    let certificates = try certificateAuthorities()
    let allowsCleartext = try choice(.smtpCleartext, of: ["yes": true, "no": false]) ?? false
    guard let url = self[.smtp]?.text else {
      guard password == nil, self[.smtpUser] == nil else {
        throw Refusal(.usage, "a user at a mail server needs the server", hint: "add --smtp smtps://HOST")
      }
      return nil
    }
    guard (password == nil) == (self[.smtpUser] == nil) else {
      throw Refusal(
        .usage, "a user at the mail server needs a password, and a password a user",
        hint: "set --smtp-user and \(ServeSetting.smtpPassword.variable), or neither")
    }
    do throws(SMTPURLFault) {
      return try SMTPMailer(
        url: url, user: self[.smtpUser]?.text, password: password, certificates: certificates,
        allowsCleartext: allowsCleartext)
    } catch {
      switch error {
      case .malformed: throw refusal(.smtp, "the URL of a mail server")
      case .containsUser:
        throw Refusal(
          .usage, "the URL of the mail server contains a user",
          hint: "use --smtp-user and \(ServeSetting.smtpPassword.variable)")
      case .passwordInClear:
        throw Refusal(
          .usage, "the password of the mail server would cross the network in clear",
          hint: "drop --smtp-cleartext, or use a mail server on this machine")
      }
    }
  }

  func passwordPolicy() throws(Refusal) -> PasswordPolicy {
    PasswordPolicy(
      minimumLength: try number(.minimumPassword, in: 8...64) ?? PasswordPolicy.least,
      breachedPasswords: try folder(.breachedPasswords))
  }

  func notices() throws(Refusal) -> Set<AccountNotice> {
    switch list(.notices) {
    case nil, ["all"]: return Set(AccountNotice.allCases)
    case ["none"]: return []
    case let names?:
      let known = names.compactMap { name in
        AccountNotice(rawValue: name)
      }
      guard known.count == names.count else { throw refusal(.notices, "a list of notices") }
      return Set(known)
    }
  }

  func administrators() throws(Refusal) -> [Administrator] {
    guard let token = try secret(.adminToken) else { return [] }
    do throws(AdministratorFault) { return [try Administrator(name: "admin", token: token)] } catch {
      throw Refusal(
        .usage, "the administrator's token is not at least 32 printable characters", hint: ServeSetting.adminToken.hint)
    }
  }

  func apple() throws(Refusal) -> AppleSignIn? {
    let issuer = try optional(.appleIssuer, "a valid issuer") { $0.isEmpty ? nil : $0 }
    let keysURL: String? = try optional(.appleKeysURL, "a valid URL") { text in
      guard let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme), parts.host != nil else {
        return nil
      }
      return text
    }
    guard let ids = list(.appleClientID) else { return nil }
    guard !ids.contains("") else { throw refusal(.appleClientID, "a list of app IDs") }
    return AppleSignIn(
      clientIDs: Set(ids), issuer: issuer ?? AppleSignIn.issuer, keysURL: keysURL ?? AppleSignIn.keysURL,
      transport: CommandTransport.make(certificateAuthorities: try certificateAuthorities()))
  }

  func keys() throws(Refusal) -> ServerKeys? {
    try secret(.keys).map { text throws(Refusal) in
      try SettingValues.keys(text, from: self[.keysFile]?.place ?? ServeSetting.keys.variable)
    }
  }

  /// Returns the keys in the text of a `keys.json`.
  static func keys(_ text: Secret, from place: String) throws(Refusal) -> ServerKeys {
    do throws(RegistryOpenError) { return try KeyFile.keys(text: text, named: place) } catch {
      throw Refusal(.usage, plain("\(error)"), hint: "set \(place) to the full text of a keys.json")
    }
  }

  /// Returns a secret from its variable, or from the file that the variable of its other setting names.
  static func secret(
    _ setting: ServeSetting, in environment: [String: String]
  ) throws(Refusal) -> (text: Secret, place: String)? {
    let text = environment[setting.variable]
    guard let inFile = setting.inFile, let path = environment[inFile.variable] else {
      return text.map { (Secret($0), setting.variable) }
    }
    return (try content(of: path, named: inFile, text: text, setting, inFile.variable), inFile.variable)
  }

  /// Returns the secret in a file.
  ///
  /// - Parameter text: the same secret from its variable, which is one too many.
  static func content(
    of path: String, named inFile: ServeSetting, text: String?, _ setting: ServeSetting, _ place: String
  ) throws(Refusal) -> Secret {
    guard text == nil else {
      throw Refusal(.usage, "\(setting.variable) and \(place) cannot be combined", hint: "drop one of them")
    }
    guard var content = FileManager.default.contents(atPath: path) else {
      throw Refusal(.usage, "\(place): cannot read \(path)", hint: inFile.hint)
    }
    while content.last == 10 || content.last == 13 { content.removeLast() }
    return Secret(bytes: content)
  }
}

extension ListeningAddress {
  /// Parses `127.0.0.1:9464` or `[::1]:9464`.
  init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { return nil }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty, !host.contains("/") else { return nil }
    self = .host(host, port: port)
  }
}
#endif
