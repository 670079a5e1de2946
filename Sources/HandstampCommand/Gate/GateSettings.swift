#if Command && Verifier
import Foundation
import HandstampCore
import HandstampSupport
import HandstampVerifier
import Logging

/// The settings of a gate, from flags and the environment, in this order of precedence.
struct GateSettings: Sendable {
  /// Where a gate listens.
  enum Address: Sendable, Equatable {
    case loopback(host: String, port: Int)
    case unixSocket(String)
  }

  /// Which header fields say what the client asked the proxy for.
  enum Headers: String, Sendable, CaseIterable {
    /// As nginx is told to.
    case original
    /// As Caddy and Traefik do.
    case forwarded

    var uri: String { self == .original ? "X-Original-URI" : "X-Forwarded-Uri" }
    var method: String { self == .original ? "X-Original-Method" : "X-Forwarded-Method" }
  }

  let address: Address
  let publicURL: String
  let headers: Headers
  let passesPreflights: Bool
  let logLevel: Logger.Level
  private(set) var verifier: VerifierConfiguration

  init(flags: [GateSetting: String], environment: [String: String]) throws(Refusal) {
    let known = GateSetting.allCases.map(\.variable)
    for name in environment.keys.sorted() where name.hasPrefix(GateSetting.prefix) && !known.contains(name) {
      throw Refusal(.usage, "unknown setting \(name)", hint: "use one of: \(known.joined(separator: ", "))")
    }
    let values = Values(flags: flags, environment: environment)
    let issuer = try values.required(.issuer)
    address = try values.read(.listen) { GateSettings.address($0) } ?? .loopback(host: "127.0.0.1", port: 8089)
    let url = try values.required(.publicURL)
    guard let parsed = WebURL(url), parsed.path == "/", parsed.query == nil, !url.hasSuffix("/"), !url.contains("#")
    else {
      throw values.refusal(.publicURL)
    }
    publicURL = url
    guard let headers = Headers(rawValue: try values.required(.headers)) else { throw values.refusal(.headers) }
    self.headers = headers
    passesPreflights = try values.read(.passPreflights) { GateSettings.isYes($0) } ?? false
    logLevel = try values.read(.logLevel) { Logger.Level(rawValue: $0) } ?? .info
    var configuration = VerifierConfiguration(
      issuer: issuer, audiences: Set(try values.read(.audience) { GateSettings.list($0) } ?? [issuer]))
    if let keys = values[.keys] { configuration.keys = keys.text == "metadata" ? .metadata : .url(keys.text) }
    if let algorithms = try values.read(.algorithms, GateSettings.algorithms) { configuration.algorithms = algorithms }
    let leeway = try values.read(.leeway) { text in
      Span(argument: text).flatMap { $0.duration <= .seconds(300) ? $0.duration : nil }
    }
    if let leeway { configuration.leeway = leeway }
    configuration.firstPartyClients = Set(try values.read(.firstPartyClients) { GateSettings.list($0) } ?? [])
    configuration.requiresProofs = try values.read(.requireProofs) { GateSettings.isYes($0) } ?? false
    if try values.read(.feed, GateSettings.isYes) ?? true {
      configuration.feed = FeedSettings(
        clientID: try values.required(.clientID), clientSecret: try values.secret(),
        whenLost: try values.read(.whenLost) { GateSettings.policy($0) } ?? .goOn(for: .seconds(60)))
    } else {
      for setting in [GateSetting.clientID, .clientSecret, .clientSecretFile, .whenLost] where values[setting] != nil {
        throw Refusal(
          .usage, "\(values.place(setting)) is for the feed, which is off", hint: "use --feed yes, or leave it out")
      }
    }
    verifier = configuration
  }

  /// Returns a verifier with these settings.
  func makeVerifier(_ logger: Logger) throws(Refusal) -> TokenVerifier {
    var configuration = verifier
    configuration.logger = logger
    do throws(VerifierFault) { return try TokenVerifier(configuration) } catch {
      let setting: GateSetting =
        switch error {
        case .badIssuer: .issuer
        case .noAudience: .audience
        case .badURL, .badKeys: .keys
        case .noAlgorithm: .algorithms
        case .noClient: .clientID
        }
      throw Refusal(.usage, "\(setting.flag): \(error)", hint: setting.hint)
    }
  }

  private static func address(_ text: String) -> Address? {
    // The kernel's limit for the path of a socket.
    if text.hasPrefix("/") { return text.utf8.count < 104 ? .unixSocket(text) : nil }
    guard let url = WebURL("http://" + text), url.path == "/", url.query == nil, !text.contains("#"),
      Loopback.contains(host: url.origin.host)
    else { return nil }
    // Port 0, which is no valid URL, is asked for as no port.
    return .loopback(host: url.origin.host, port: text.hasSuffix(":\(url.origin.port)") ? url.origin.port : 0)
  }

  private static func list(_ text: String) -> [String]? {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    return parts.contains("") ? nil : parts
  }

  private static func isYes(_ text: String) -> Bool? { ["yes": true, "no": false][text] }

  private static func algorithms(_ text: String) -> Set<VerifierConfiguration.Algorithm>? {
    guard let names = list(text) else { return nil }
    let algorithms = names.compactMap { VerifierConfiguration.Algorithm(rawValue: $0) }
    return algorithms.count == names.count ? Set(algorithms) : nil
  }

  private static func policy(_ text: String) -> LostFeedPolicy? {
    switch text {
    case "refuse": return .refuse
    case "introspect": return .introspect
    default: break
    }
    let parts = text.split(separator: ",", maxSplits: 1)
    guard let first = parts.first, first.hasPrefix("go-on:"),
      let time = Span(argument: String(first.dropFirst("go-on:".count)))
    else { return nil }
    switch parts.dropFirst().first {
    case nil, "refuse": return .goOn(for: time.duration)
    case "introspect": return .goOn(for: time.duration, then: .introspect)
    default: return nil
    }
  }
}

/// The values as given, and where.
private struct Values {
  private var values: [GateSetting: SettingValue] = [:]

  init(flags: [GateSetting: String], environment: [String: String]) {
    for setting in GateSetting.allCases {
      if let text = flags[setting] {
        values[setting] = SettingValue(text: text, place: setting.flag)
      } else if let text = environment[setting.variable] {
        values[setting] = SettingValue(text: text, place: setting.variable)
      }
    }
  }

  subscript(_ setting: GateSetting) -> SettingValue? { values[setting] }

  func place(_ setting: GateSetting) -> String { values[setting]?.place ?? setting.flag }

  func required(_ setting: GateSetting) throws(Refusal) -> String {
    guard let value = values[setting] else {
      throw Refusal(.usage, "missing \(setting.flag)", hint: setting.hint)
    }
    guard !value.text.isEmpty else { throw refusal(setting) }
    return value.text
  }

  func read<Value>(_ setting: GateSetting, _ read: (String) -> Value?) throws(Refusal) -> Value? {
    guard let value = values[setting] else { return nil }
    guard let result = read(value.text) else { throw refusal(setting) }
    return result
  }

  func refusal(_ setting: GateSetting) -> Refusal {
    Refusal(.usage, "\(place(setting)): \"\(values[setting]?.text ?? "")\" is not valid", hint: setting.hint)
  }

  func secret() throws(Refusal) -> Secret {
    switch (values[.clientSecret], values[.clientSecretFile]) {
    case (_?, _?):
      throw Refusal(
        .usage, "\(place(.clientSecret)) and \(place(.clientSecretFile)) are both given", hint: "use one of them")
    case (let text?, nil):
      guard !text.text.isEmpty else {
        throw Refusal(.usage, "\(text.place) is empty", hint: GateSetting.clientSecret.hint)
      }
      return Secret(text.text)
    case (nil, let file?): return try SecretFile.firstLine(of: file.text, for: file.place, code: .usage)
    case (nil, nil):
      throw Refusal(.usage, "the feed needs the client's secret", hint: GateSetting.clientSecret.hint)
    }
  }
}
#endif
