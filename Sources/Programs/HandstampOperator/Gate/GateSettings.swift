#if Operator && Verifier
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampServer
import HandstampSupport
import HandstampVerifier
import Logging

/// The settings of a gate, from flags and the environment, in this order of precedence.
struct GateSettings: Sendable {
  /// Which header fields say what the client asked the proxy for.
  enum Headers: String, Sendable, CaseIterable {
    /// As nginx is told to.
    case original
    /// As Caddy and Traefik do.
    case forwarded

    var uri: String { self == .original ? "X-Original-URI" : "X-Forwarded-Uri" }
    var method: String { self == .original ? "X-Original-Method" : "X-Forwarded-Method" }
  }

  var address = ListeningAddress.host("127.0.0.1", port: 8089)
  var publicURL = ""
  var headers = Headers.original
  var passesPreflights = false
  var resourceScopes: [String] = []
  var logLevel = Logger.Level.info
  var followsFeed = true
  var whenLost = LostFeedPolicy.refuse
  var verifier: VerifierConfiguration

  init(flags: [String: String], environment: [String: String]) throws(CommandError) {
    let known = GateSettings.all.map(\.variable)
    for name in environment.keys.sorted() where name.hasPrefix(GateSettings.prefix) && !known.contains(name) {
      throw CommandError(.usage, "unknown setting \(name)", hint: "use one of: \(known.joined(separator: ", "))")
    }
    let values = SettingValues<GateSettings>(flags: flags, environment: environment)
    let issuer = try values.required("issuer")
    verifier = VerifierConfiguration(issuer: issuer, audiences: [issuer])
    for name in ["public-url", "headers"] { _ = try values.required(name) }
    for setting in GateSettings.all { try setting.apply(values, &self) }
    if verifier.resource == nil, verifier.audiences.contains(publicURL) {
      verifier.resource = ProtectedResource(publicURL)
    }
    guard verifier.resource != nil || resourceScopes.isEmpty else {
      throw CommandError(
        .usage, "--resource-scopes needs a resource", hint: "use --resource with one of the audiences")
    }
    verifier.resource?.scopes = resourceScopes
    if followsFeed {
      verifier.feed = FeedSettings(
        clientID: try values.required("client-id"), clientSecret: try values.clientSecret(), whenLost: whenLost)
    } else {
      for name in ["client-id", "client-secret", "client-secret-file", "when-lost"] {
        guard let value = values[name] else { continue }
        throw CommandError(
          .usage, "\(value.place) is for the feed, which is off", hint: "use --feed yes, or leave it out")
      }
    }
  }

  func makeVerifier(_ logger: Logger) throws(CommandError) -> TokenVerifier {
    var configuration = verifier
    configuration.logger = logger
    do throws(VerifierError) { return try TokenVerifier(configuration) } catch {
      let name =
        switch error {
        case .badIssuer: "issuer"
        case .noAudience: "audience"
        case .badURL, .badKeys: "keys"
        case .badResource, .resourceNoAudience: "resource"
        case .noAlgorithm: "algorithms"
        case .noClient: "client-id"
        }
      throw CommandError(.usage, "--\(name): \(error)", hint: GateSettings.hint(of: name))
    }
  }

  private static func address(_ text: String) -> ListeningAddress? {
    if text.hasPrefix("/") { return text.utf8.count <= SocketFile.longest ? .unixSocket(text) : nil }
    guard let url = WebURL("http://" + text), url.path == "/", url.query == nil, !text.contains("#"),
      Loopback.contains(host: url.origin.host)
    else { return nil }
    // Port 0, which is no valid URL, is asked for as no port.
    return .host(url.origin.host, port: text.hasSuffix(":\(url.origin.port)") ? url.origin.port : 0)
  }

  private static func policy(_ text: String) -> LostFeedPolicy? {
    let plain: [String: LostFeedPolicy] = ["refuse": .refuse, "introspect": .introspect]
    if let policy = plain[text] { return policy }
    let parts = text.split(separator: ",", maxSplits: 1)
    guard let first = parts.first, first.hasPrefix("allow:"),
      let time = Span(argument: String(first.dropFirst("allow:".count)))
    else { return nil }
    switch parts.dropFirst().first {
    case nil, "refuse": return .goOn(for: time.duration)
    case "introspect": return .goOn(for: time.duration, then: .introspect)
    default: return nil
    }
  }
}

extension SettingValues<GateSettings> {
  fileprivate func required(_ name: String) throws(CommandError) -> String {
    guard let value = self[name] else {
      throw CommandError(.usage, "missing --\(name)", hint: GateSettings.hint(of: name))
    }
    guard !value.text.isEmpty else { throw refusal(name, "valid") }
    return value.text
  }

  fileprivate func clientSecret() throws(CommandError) -> Secret {
    switch (self["client-secret"], self["client-secret-file"]) {
    case (let text?, let file?):
      throw CommandError(.usage, "\(text.place) and \(file.place) are both given", hint: "use one of them")
    case (let text?, nil):
      guard !text.text.isEmpty else {
        throw CommandError(.usage, "\(text.place) is empty", hint: GateSettings.hint(of: "client-secret"))
      }
      return Secret(text.text)
    case (nil, let file?): return try SecretFile.firstLine(of: file.text, for: file.place, code: .usage)
    case (nil, nil):
      throw CommandError(.usage, "the feed needs the client's secret", hint: GateSettings.hint(of: "client-secret"))
    }
  }
}

typealias GateSetting = Setting<GateSettings>

extension GateSettings: SettingGroup {
  static let prefix = "HANDSTAMP_GATE_"
  static let help = "handstamp-server gate --help"
  /// Every setting, in the order of help.
  static let all: [GateSetting] = declared

  private static let yes = SettingParser("valid", hint: "use yes or no") { ["yes": true, "no": false][$0] }
  private static let secretHint = "use --client-secret-file, or HANDSTAMP_GATE_CLIENT_SECRET"

  @SettingList private static var declared: [GateSetting] {
    GateSetting(
      "issuer", "URL of the server that issues the tokens",
      hint: "use its https URL as in its tokens, such as https://id.example.org",
      .anything(because: "the verifier checks it"))
    GateSetting(
      "audience", "audiences that stand for this API, separated by commas", unset: "the issuer",
      hint: "use the audiences of the tokens, such as https://api.example.org",
      .list("valid") { $0.contains("") ? nil : Set($0) }, to: \.verifier.audiences)
    GateSetting(
      "listen", "loopback address and port, or the path of a Unix socket", default: "127.0.0.1:8089",
      hint: "use 127.0.0.1:8089 or /run/handstamp/gate.sock: other machines must not reach it",
      .init("valid") { address($0) }, to: \.address)
    GateSetting(
      "public-url", "public URL of the API, without a path of its own: proofs of possession name it",
      hint: "use the URL that clients call, such as https://api.example.org",
      .text("valid") { url in
        guard let parsed = WebURL(url), parsed.path == "/", parsed.query == nil else { return false }
        return !url.hasSuffix("/") && !url.contains("#")
      }, to: \.publicURL)
    GateSetting(
      "headers",
      "where the proxy puts the original request: original (X-Original-URI and -Method) or forwarded (X-Forwarded-Uri and -Method)",
      hint: "use original with nginx, forwarded with Caddy and Traefik", .init("valid") { Headers(rawValue: $0) },
      to: \.headers)
    GateSetting(
      "resource", "URL of the API as its clients name it, of which the gate serves the metadata (RFC 9728)",
      unset: "--public-url, if that is an audience",
      hint: "use one of --audience that is an https URL, such as https://api.example.org/mcp",
      .init("valid") { ProtectedResource($0) }, to: \.verifier.resource)
    GateSetting(
      "resource-scopes", "scopes that clients ask for at first, separated by commas", unset: "none",
      hint: "use names of scopes, such as read,write", .list("valid") { $0.contains("") ? nil : $0 },
      to: \.resourceScopes)
    GateSetting(
      "keys", "URL of the issuer's keys, or metadata", unset: "/.well-known/jwks.json of the issuer",
      hint: "use an https URL, or metadata", .init("valid") { $0 == "metadata" ? .metadata : .url($0) },
      to: \.verifier.keys)
    GateSetting(
      "feed", "whether to follow the ended sessions of a Handstamp server, yes or no", default: "yes", yes,
      to: \.followsFeed)
    GateSetting(
      "client-id", "client ID of this API at the server, for the feed",
      hint: "name a client of the server with \"introspects\": true, or use --feed no",
      .anything(because: "the server decides"))
    GateSetting("client-secret", "its secret", hint: secretHint, .anything(because: "the server decides", .secret))
    GateSetting(
      "client-secret-file", "file with its secret, readable by its owner only", hint: secretHint,
      .anything(because: "SecretFile reads it"))
    GateSetting(
      "when-lost", "while the feed is lost: refuse, introspect, or allow:TIME, then refuse or introspect",
      default: "allow:60s,refuse", hint: "use refuse, introspect, allow:5m or allow:5m,introspect",
      .init("valid") { policy($0) }, to: \.whenLost)
    GateSetting(
      "algorithms", "accepted algorithms, separated by commas", default: "ES256,RS256",
      hint: "use ES256, RS256 or both",
      .list("valid") { names in
        let algorithms = names.compactMap { VerifierConfiguration.Algorithm(rawValue: $0) }
        return algorithms.count == names.count ? Set(algorithms) : nil
      }, to: \.verifier.algorithms)
    GateSetting(
      "leeway", "how far the clocks may differ, at most 5m", default: "10s", hint: "write it as 90s or 2m, at most 5m",
      .init("valid") { text in
        Span(argument: text).flatMap { $0.duration <= .seconds(300) ? $0.duration : nil }
      }, to: \.verifier.leeway)
    GateSetting(
      "first-party-clients", "clients whose tokens need no scope, separated by commas", unset: "none",
      hint: "use client IDs, such as handstamp", .list("valid") { $0.contains("") ? nil : Set($0) },
      to: \.verifier.firstPartyClients)
    GateSetting(
      "require-proofs", "whether tokens that are bound to no key are refused, yes or no", default: "no", yes,
      to: \.verifier.requiresProofs)
    GateSetting(
      "machines",
      "whether clients' own tokens are accepted, which have no account: the subject is empty then, yes or no",
      default: "no", yes, to: \.verifier.admitsMachines)
    GateSetting(
      "pass-preflights",
      "whether a browser's question before a request of another origin (CORS) is passed on without a token, yes or no",
      default: "no", yes, to: \.passesPreflights)
    GateSetting(
      "log-level", "least level of log lines", default: "info",
      hint: "use debug, info, notice, warning, error or critical", .init("valid") { Logger.Level(rawValue: $0) },
      to: \.logLevel)
  }
}
#endif
