#if Server
public import CoreMetrics
import Foundation
public import HandstampCore
public import HandstampRegistry
import HandstampSupport
public import Logging

/// The configuration of a session server.
public struct ServerConfiguration: Sendable {
  /// How accounts are created.
  public enum SignUp: String, Sendable, Hashable, CaseIterable {
    /// Signing up starts a session at once. The response reveals whether an address has an account, so do not use this on
    /// public servers.
    case open
    /// The response is the same for every address. The one-time token in the mail creates the account and its session.
    case confirmed
    /// Signing up is disabled.
    case closed
  }

  /// The `iss` of every token, and its audience: the server's public address, an `https` URL without a trailing slash. It may
  /// differ from the address that the server listens on.
  public var issuer: String
  /// Whether the issuer is published with the slash of its empty path, see ``issuerIdentifier``.
  package var hasIssuerSlash = false
  /// The path below which the routes are, such as `/auth`: where an app that has other routes puts them. It starts with a
  /// slash and does not end with one; ``issuer`` ends with it. Empty by default.
  public var mountPath = ""
  /// The `client_id` of the tokens that the first-party API issues (RFC 9068 section 2.2).
  public var clientID = "handstamp"
  /// Lifetime of an access token, at least 1 s; shorter values count as 1 s. Default 10 min.
  public var accessTokenLife = Duration.seconds(600) { didSet { accessTokenLife = max(.seconds(1), accessTokenLife) } }
  public var signUp = SignUp.open
  /// Other OAuth clients that users can allow to access their accounts.
  public var clients: [ConfiguredClient] = []
  /// The providers that people can sign in with, in the order of their buttons. They need a `transport`.
  public var providers: [UpstreamProvider] = []
  /// The rights of clients that publish a metadata document of their own; `nil` refuses them.
  package var clientDocuments: ClientDocumentSettings?
  /// The rights of clients that register themselves (RFC 7591); `nil` lets none of them do so.
  package var clientRegistration: StrangerRights?
  /// The way to receivers of webhooks; `nil` refuses to add one, see ``AdministrationError/webhooksNotSent``.
  package var webhookNetwork: PinnedNetwork?
  /// The administrators of the server over HTTP, at `/admin/v1`. Empty by default: then there are no such routes.
  public var administrators: [Administrator] = []
  public var mail = MailSettings()
  public var passwords = PasswordSettings()
  /// The operator's JSON object, which apps read at `GET /v1/app-config`.
  public var appConfig = "{}"
  /// The system that the users come from, whose live sessions are taken over; `nil` (the default) takes over none.
  public var former: FormerSystem?
  /// How long after its sign-in, or `POST /v1/reauthenticate`, a session may end others; later the response is 403
  /// `reauthentication_required`. Default 15 min; `nil` asks for no further proof. Guest accounts, and those of an
  /// ``AccountDirectory``, need none.
  public var reauthentication: Duration? = .seconds(15 * 60)
  /// How strong sign-ins have to be, by groups of accounts. Apps get 403 `second_factor_missing` for a weaker one; on the pages people
  /// are led to set up a second factor before they get to a client. Sessions go on. Default: any.
  public var requiredAssurance = AssuranceRequirement()
  /// Whether an authorization code that comes a second time always ends the session that it began. Default `false`: not if it comes
  /// again from its own client with its verifier, as after a reload, while the session's refresh token was not used.
  public var endsRepeatedCodes = false
  /// How often clients may sign in, sign up, cause mails and so on. Default ``ServerLimits/standard``.
  public var limits = ServerLimits.standard
  /// Maximum size of a request body, in bytes.
  public var bodyLimit = 64 * 1024
  /// Time without an event after which an event stream sends a heartbeat. Default 15 s.
  public var heartbeat = Duration.seconds(15)
  /// How long open requests may take to finish when the server shuts down. Default 10 s.
  public var shutdownLimit = Duration.seconds(10)
  /// How long the server serves on when it is told to stop, while `GET /ready` is answered 503: a load balancer then sends requests
  /// elsewhere before they would fail. Default 0 s.
  public var shutdownDelay = Duration.zero
  /// A connection without a request for this long is closed. Default 120 s.
  public var idleConnectionLimit = Duration.seconds(120)
  public var eventStreams = EventStreamLimits()
  /// The origins of browser applications, such as `https://app.example.com`, whose pages may use `/v1` with the cookie of
  /// `/v1/session`. Browsers send it only from the same site: below the same registrable domain as ``issuer``.
  public var webOrigins: [String] = []
  /// Which domain passkeys belong to. They are for accounts of the server's own, not for those of an ``AccountDirectory``.
  public var passkeys = PasskeyDomain.issuer
  /// The operator's apps on Apple's systems, which the server names at `/.well-known/apple-app-site-association`.
  public var appleApps: [AppleApp] = []
  /// The operator's apps on Android, which the server names at `/.well-known/assetlinks.json`. They may use its passkeys.
  public var androidApps: [AndroidApp] = []
  /// How the server's own pages look.
  public var pages = PageSettings()
  /// How the server listens by itself.
  public var listener = ListenerOptions()
  /// The proxies in front of the server, whose word about the address of a client counts. Default ``TrustedProxies/none``.
  public var trustedProxies = TrustedProxies.none
  /// The policy for browsers about HTTPS, if ``issuer`` is an `https` URL; `nil` says nothing.
  public var transportSecurity: TransportSecurity? = TransportSecurity()
  public var logger = Logger(label: "handstamp.server")
  /// Whether each entry of the audit log is written to ``logger`` as well.
  public var logsAudit = true
  /// The backend of swift-metrics that the counters are published to; the system's by default.
  public var metrics: any MetricsFactory = MetricsSystem.factory
  /// The wall clock. Jumps are ignored at first, see ``uptime``. Another clock sets ``uptime`` as well, to agree with it.
  public var now: @Sendable () -> UnixTime = { .current } {
    didSet { uptime = { [now] in .milliseconds(now().milliseconds) } }
  }
  /// A monotonic clock, to compare the wall clock with; by default the time since the machine started, with the time that it
  /// slept. When the wall clock jumps by more than 10 s, the previous time is continued by this clock, until both have agreed
  /// for 10 min.
  public var uptime: @Sendable () -> Duration = { BootClock.uptime }
  /// The boot in which ``uptime`` counts, so that the next start can measure how long no server ran; zero if that is not known.
  package var boot = BootClock.id

  /// Makes a configuration with the defaults, and passes it to `configure`.
  public init(issuer: String = "http://localhost", _ configure: (inout ServerConfiguration) -> Void = { _ in }) {
    self.issuer = issuer
    configure(&self)
  }

  /// The public address that the path of a request is appended to: the issuer without ``mountPath``.
  ///
  /// - Throws: ``ServerConfigurationError/mountPath(_:issuer:)`` if the mount path is not valid, or the issuer does not end with it.
  func publicAddress() throws(ServerConfigurationError) -> String {
    guard !mountPath.isEmpty else { return issuer }
    let parts = mountPath.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    guard mountPath.hasPrefix("/"), issuer.hasSuffix(mountPath), Set(parts).isDisjoint(with: ["", ".", ".."]),
      parts.allSatisfy({ $0.utf8.allSatisfy(\.isUnreserved) })
    else { throw .mountPath(mountPath, issuer: issuer) }
    return String(issuer.dropLast(mountPath.count))
  }

  /// The issuer as metadata and tokens have it and clients compare it, byte for byte (RFC 8414 section 2, RFC 9207 section 2.4):
  /// with ``hasIssuerSlash`` as programs write it that hold it as a URL (RFC 3986 section 6.2.3). Addresses begin with ``issuer``.
  package var issuerIdentifier: String {
    hasIssuerSlash && WebURL(issuer)?.path == "/" ? issuer + "/" : issuer
  }

  /// The sender of mails.
  var sender: String {
    mail.from ?? "handstamp@" + (URLComponents(string: issuer)?.host ?? "localhost")
  }
}
#endif
