#if Command && Verifier
import ArgumentParser
import Foundation
import HandstampCore

/// A setting of `handstamp gate`. It has one name: `public-url` is the flag `--public-url` and the variable
/// `HANDSTAMP_GATE_PUBLIC_URL`.
enum GateSetting: String, CaseIterable, Sendable {
  case issuer, audience, listen
  case publicURL = "public-url"
  case headers, keys, feed
  case clientID = "client-id"
  case clientSecret = "client-secret"
  case clientSecretFile = "client-secret-file"
  case whenLost = "when-lost"
  case algorithms, leeway
  case firstPartyClients = "first-party-clients"
  case requireProofs = "require-proofs"
  case passPreflights = "pass-preflights"
  case logLevel = "log-level"

  static let prefix = "HANDSTAMP_GATE_"

  var flag: String { "--" + rawValue }
  var variable: String { GateSetting.prefix + rawValue.uppercased().replacingOccurrences(of: "-", with: "_") }

  /// The help of the flag.
  var help: ArgumentHelp { ArgumentHelp(stringLiteral: about) }

  private var about: String {
    switch self {
    case .issuer: "URL of the server that issues the tokens"
    case .audience: "audiences that stand for this API, separated by commas (default: the issuer)"
    case .listen: "loopback address and port, or the path of a Unix socket (default: 127.0.0.1:8089)"
    case .publicURL: "public URL of the API, without a path of its own: proofs of possession name it"
    case .headers:
      "where the proxy puts the original request: original (X-Original-URI and -Method) or forwarded (X-Forwarded-Uri and -Method)"
    case .keys: "URL of the issuer's keys, or metadata (default: /.well-known/jwks.json of the issuer)"
    case .feed: "whether to follow the ended sessions of a Handstamp server, yes or no (default: yes)"
    case .clientID: "client ID of this API at the server, for the feed"
    case .clientSecret: "its secret"
    case .clientSecretFile: "file with its secret, readable by its owner only"
    case .whenLost:
      "while the feed is lost: refuse, introspect, or go-on:TIME, then refuse or introspect (default: go-on:60s,refuse)"
    case .algorithms: "accepted algorithms, separated by commas (default: ES256,RS256)"
    case .leeway: "how far the clocks may differ, at most 5m (default: 10s)"
    case .firstPartyClients: "clients whose tokens need no scope, separated by commas (default: none)"
    case .requireProofs: "whether tokens that are bound to no key are refused, yes or no (default: no)"
    case .passPreflights:
      "whether a browser's question before a request of another origin (CORS) is passed on without a token, yes or no (default: no)"
    case .logLevel: "least level of log lines (default: info)"
    }
  }

  /// Valid values.
  var hint: String {
    switch self {
    case .issuer: "use its https URL, byte for byte as in its tokens, such as https://id.example.org"
    case .audience: "use the audiences of the tokens, such as https://api.example.org"
    case .listen: "use 127.0.0.1:8089 or /run/handstamp/gate.sock: other machines must not reach it"
    case .publicURL: "use the URL that clients call, such as https://api.example.org"
    case .headers: "use original with nginx, forwarded with Caddy and Traefik"
    case .keys: "use an https URL, or metadata"
    case .feed, .requireProofs, .passPreflights: "use yes or no"
    case .clientID: "name a client of the server with \"introspects\": true, or use --feed no"
    case .clientSecret, .clientSecretFile: "use --client-secret-file, or HANDSTAMP_GATE_CLIENT_SECRET"
    case .whenLost: "use refuse, introspect, go-on:5m or go-on:5m,introspect"
    case .algorithms: "use ES256, RS256 or both"
    case .leeway: "write it as 90s or 2m, at most 5m"
    case .firstPartyClients: "use client IDs, such as handstamp"
    case .logLevel: "use debug, info, notice, warning, error or critical"
    }
  }
}
#endif
