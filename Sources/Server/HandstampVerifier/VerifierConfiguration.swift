#if Verifier
import HandstampCore
import HandstampSupport
public import Logging

/// Which access tokens a ``TokenVerifier`` accepts, and what it asks its issuer for.
public struct VerifierConfiguration: Sendable {
  /// An accepted signature algorithm (RFC 7518 section 3.1). A key has one algorithm: a header cannot choose another.
  public enum Algorithm: String, Sendable, Hashable, CaseIterable {
    case es256 = "ES256"
    case rs256 = "RS256"
  }

  /// The `iss` of every token: the server's public URL, byte for byte. Only the slash of an empty path may differ, here and in
  /// ``audiences``.
  public var issuer: String
  /// The `aud` values that stand for this API; a token needs one of them. A Handstamp server's own tokens have its issuer.
  public var audiences: Set<String>
  /// Where the keys are. Default: `/.well-known/jwks.json` of the issuer, as at a Handstamp server.
  public var keys: KeySource
  public var keyPolicy: KeyPolicy
  /// Default: both. RFC 9068 section 2.1 demands RS256 of issuers; a Handstamp server signs with ES256 unless told otherwise.
  public var algorithms: Set<Algorithm>
  /// How far the issuer's clock and this machine's may differ. A token is accepted so much longer. Default 10 s, at most 5 min.
  public var leeway: Duration
  /// The clients whose tokens need no scope if they have none: the issuer's own apps. Default: none.
  public var firstPartyClients: Set<String>
  /// How long a proof of possession may be used after it was made, at most 5 min. Default 60 s, and ``leeway``.
  public var proofLife: Duration
  /// Whether tokens that are bound to no key are refused. Default `false`.
  public var requiresProofs: Bool
  /// Whether clients' own tokens are accepted, which have no account. Default `false`: code that takes ``TokenIdentity/subject`` for
  /// an account must not meet them. If `true`, look at ``TokenIdentity/isMachine``.
  public var admitsMachines: Bool
  /// The API as clients find it; `nil`, the default, for clients that know the issuer anyway.
  public var resource: ProtectedResource?
  /// The feed of ended sessions; `nil` for issuers without one: tokens are then valid until they expire.
  public var feed: FeedSettings?
  public var logger: Logger
  /// The clocks, which tests replace.
  var clock = VerifierClock.system

  public init(
    issuer: String, audiences: Set<String>, keys: KeySource? = nil, keyPolicy: KeyPolicy = KeyPolicy(),
    algorithms: Set<Algorithm> = Set(Algorithm.allCases), leeway: Duration = .seconds(10),
    firstPartyClients: Set<String> = [], proofLife: Duration = .seconds(60), requiresProofs: Bool = false,
    admitsMachines: Bool = false,
    resource: ProtectedResource? = nil, feed: FeedSettings? = nil, logger: Logger = Logger(label: "handstamp.verifier")
  ) {
    self.issuer = issuer
    self.audiences = audiences
    self.keys = keys ?? .url(WebURL.address("/.well-known/jwks.json", below: issuer))
    self.keyPolicy = keyPolicy
    self.algorithms = algorithms
    self.leeway = min(max(.zero, leeway), .seconds(300))
    self.firstPartyClients = firstPartyClients
    self.proofLife = min(max(.seconds(1), proofLife), .seconds(300))
    self.requiresProofs = requiresProofs
    self.admitsMachines = admitsMachines
    self.resource = resource
    self.feed = feed
    self.logger = logger
  }

  /// - Throws: ``VerifierError`` for what could never verify a token, or would send a secret in the clear.
  func check() throws(VerifierError) {
    guard let issuer = Origin(issuer), issuer.isTrustworthy else { throw .badIssuer(self.issuer) }
    guard !audiences.isEmpty, !audiences.contains("") else { throw .noAudience }
    guard !algorithms.isEmpty else { throw .noAlgorithm }
    switch keys {
    case .url(let url): try VerifierConfiguration.requireTrustworthy(url)
    case .metadata, .fixed: break
    }
    guard let feed else { return }
    guard !feed.clientID.isEmpty else { throw .noClient }
    try VerifierConfiguration.requireTrustworthy(feedURL(feed))
    try VerifierConfiguration.requireTrustworthy(introspectionURL(feed))
  }

  /// The metadata of ``resource``.
  func resourceDocument() throws(VerifierError) -> ResourceDocument? {
    guard let resource else { return nil }
    let document = ResourceDocument(
      of: resource.identifier, issuer: issuer, scopes: resource.scopes, name: resource.name,
      requiresProofs: requiresProofs)
    guard let document else { throw .badResource(resource.identifier) }
    // Clients ask for tokens of this audience (RFC 8707), which would all be refused.
    guard audiences.contains(resource.identifier) else { throw .resourceNoAudience(resource.identifier) }
    return document
  }

  private static func requireTrustworthy(_ url: String) throws(VerifierError) {
    guard Origin(url)?.isTrustworthy == true else { throw .badURL(url) }
  }

  func feedURL(_ feed: FeedSettings) -> String { feed.url ?? WebURL.address("/v1/revocations", below: issuer) }
  func introspectionURL(_ feed: FeedSettings) -> String {
    feed.introspectionURL ?? WebURL.address("/oauth/introspect", below: issuer)
  }
}

/// An error in the configuration of a verifier.
public enum VerifierError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The issuer is no `https` URL, and none of this machine.
  case badIssuer(String)
  /// An address is no `https` URL, and none of this machine.
  case badURL(String)
  /// No audience is accepted: every token would be refused.
  case noAudience
  /// No algorithm is accepted.
  case noAlgorithm
  /// The fixed keys are no JWK Set with a key of an accepted algorithm.
  case badKeys
  /// The identifier of the resource is no `https` URL without query and fragment.
  case badResource(String)
  /// The identifier of the resource is no accepted audience.
  case resourceNoAudience(String)
  /// The feed has no client ID.
  case noClient

  public var description: String {
    switch self {
    case .badIssuer(let url): "not an https URL of an issuer: \(url)"
    case .badURL(let url): "not an https URL: \(url)"
    case .noAudience: "no audience is accepted"
    case .noAlgorithm: "no algorithm is accepted"
    case .badKeys: "the keys are not a JWK Set with a key of an accepted algorithm"
    case .badResource(let url): "not the https URL of an API, without query and fragment: \(url)"
    case .resourceNoAudience(let url): "not among the accepted audiences: \(url)"
    case .noClient: "the revocation feed needs a client ID"
    }
  }
}
#endif
