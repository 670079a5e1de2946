#if Server
public import CoreMetrics
import Foundation
public import HandstampCore
public import HandstampRegistry
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
  /// The path below which the routes are, such as `/auth`: where an app that has other routes puts them. It starts with a
  /// slash and does not end with one; ``issuer`` ends with it. Empty by default.
  public var mountPath: String
  /// The `client_id` of the tokens that the first-party API issues (RFC 9068 section 2.2).
  public var clientID: String
  /// Lifetime of an access token, at least 1 s; shorter values count as 1 s. Default 10 min.
  public var accessTokenLife: Duration
  public var signUp: SignUp
  /// Other OAuth clients that users can allow to access their accounts.
  public var clients: [ConfiguredClient]
  /// Who may administer the server over HTTP, at `/admin/v1`. Empty by default: then there are no such routes.
  public var administrators: [Administrator]
  /// The sender of mails. `nil` uses `handstamp@` and the issuer's host.
  public var mailFrom: String?
  /// A template for links in mails, with `{token}` and optionally `{action}` (`confirm` or `reset`): an address of the
  /// operator's app or page. If `nil`, they lead to the server's own pages.
  public var mailLink: String?
  /// Minimum time between two mails of one kind to one address. A request in between gets the same response, but sends no mail.
  public var mailInterval: Duration
  /// The greatest random delay between a request and the work for its mail, so that other requests, delayed by that work, do not
  /// tell whether the address has an account. Default 2 s.
  public var mailJitter: Duration
  /// How many mails are sent at once, at least 1. Default 4.
  public var mailsAtOnce: Int
  /// How long a server has a mail for itself while it sends it, longer than the mailer takes. If the server dies, another sends it
  /// then. Default 120 s.
  public var mailLease: Duration
  /// What accounts with an address are told of by mail. Default: everything.
  public var notices: Set<AccountNotice>
  /// Where users see their devices, for mails: an address of the operator's app or page. `nil` names the server's own page.
  public var devicesLink: String?
  /// The operator's JSON object, which apps read at `GET /v1/app-config`.
  public var appConfig: String
  /// Stronger parameters than before are used for existing passwords from their next sign-in.
  public var passwordHashing: Argon2Parameters
  /// Which new passwords are accepted.
  public var passwordPolicy: PasswordPolicy
  /// How many passwords are hashed at once.
  public var hashingThreads: Int
  /// How many further hashes may wait; more are answered 503.
  public var hashingQueue: Int
  /// How long after its sign-in, or `POST /v1/reauthenticate`, a session may end others; later the answer is 403
  /// `reauthentication_required`. Default 15 min; `nil` asks for no further proof. Guest accounts, and those of an
  /// ``AccountDirectory``, need none.
  public var reauthentication: Duration?
  /// How often clients may sign in, sign up, cause mails and so on. Default ``ServerLimits/standard``.
  public var limits: ServerLimits
  /// Maximum size of a request body, in bytes.
  public var bodyLimit: Int
  /// Time without an event after which an event stream sends a heartbeat.
  public var heartbeat: Duration
  /// How long open requests may take to finish when the server shuts down.
  public var shutdownLimit: Duration
  /// How long the server serves on when it is told to stop, while `GET /ready` is answered 503: a load balancer then sends requests
  /// elsewhere before they would fail. Default 0 s.
  public var shutdownDelay = Duration.zero
  /// How often expired sessions are looked for.
  public var sweepInterval: Duration
  /// A connection without a request for this long is closed. Default 120 s.
  public var idleConnectionLimit: Duration
  public var eventStreams: EventStreamLimits
  /// The origins of browser applications, such as `https://app.example.com`, whose pages may use `/v1` with the cookie of
  /// `/v1/session`. Browsers send it only from the same site: below the same registrable domain as ``issuer``.
  public var webOrigins: [String] = []
  /// Which domain passkeys belong to. They are for accounts of the server's own, not for those of an ``AccountDirectory``.
  public var passkeys = PasskeyDomain.issuer
  /// How the server's own pages look.
  public var pages = PageSettings()
  /// How the server listens by itself.
  public var listener: ListenerOptions
  /// The proxies in front of the server, whose word about the address of a client counts. Default ``TrustedProxies/none``.
  public var trustedProxies: TrustedProxies
  /// What the server tells browsers about HTTPS, if ``issuer`` is an `https` URL; `nil` says nothing.
  public var transportSecurity: TransportSecurity?
  public var logger: Logger
  /// Whether each entry of the audit log is written to ``logger`` as well.
  public var logsAudit = true
  /// The backend of swift-metrics that the counters are published to; the system's by default.
  public var metrics: any MetricsFactory
  /// The wall clock. Jumps are ignored at first, see ``uptime``.
  public var now: @Sendable () -> UnixTime
  /// A monotonic clock with an arbitrary start, to compare the wall clock with. When the wall clock jumps by more than 10 s,
  /// the previous time is continued by this clock, until both have agreed for 10 min.
  public var uptime: @Sendable () -> Duration
  /// Whether to use the wall clock at start even if the last time in the registry makes it look wrong.
  public var trustsClock: Bool

  /// - Parameters:
  ///   - hashingThreads: `nil` leaves one core for everything else, if there are several.
  ///   - now: the wall clock; `nil` uses the machine's.
  ///   - uptime: the monotonic clock; `nil` uses the machine's, or `now` itself if that is given.
  public init(
    issuer: String = "http://localhost",
    mountPath: String = "",
    clientID: String = "handstamp",
    accessTokenLife: Duration = .seconds(600),
    signUp: SignUp = .open,
    clients: [ConfiguredClient] = [],
    administrators: [Administrator] = [],
    mailFrom: String? = nil,
    mailLink: String? = nil,
    mailInterval: Duration = .seconds(60),
    mailJitter: Duration = .seconds(2),
    mailsAtOnce: Int = 4,
    mailLease: Duration = .seconds(120),
    notices: Set<AccountNotice> = Set(AccountNotice.allCases),
    devicesLink: String? = nil,
    appConfig: String = "{}",
    passwordHashing: Argon2Parameters = .recommended,
    passwordPolicy: PasswordPolicy = PasswordPolicy(),
    hashingThreads: Int? = nil,
    hashingQueue: Int = 64,
    reauthentication: Duration? = .seconds(15 * 60),
    limits: ServerLimits = .standard,
    bodyLimit: Int = 64 * 1024,
    heartbeat: Duration = .seconds(15),
    shutdownLimit: Duration = .seconds(10),
    sweepInterval: Duration = .seconds(60),
    idleConnectionLimit: Duration = .seconds(120),
    eventStreams: EventStreamLimits = EventStreamLimits(),
    listener: ListenerOptions = ListenerOptions(),
    trustedProxies: TrustedProxies = .none,
    transportSecurity: TransportSecurity? = TransportSecurity(),
    logger: Logger = Logger(label: "handstamp.server"),
    metrics: any MetricsFactory = MetricsSystem.factory,
    now: (@Sendable () -> UnixTime)? = nil,
    uptime: (@Sendable () -> Duration)? = nil,
    trustsClock: Bool = false
  ) {
    self.issuer = issuer
    self.mountPath = mountPath
    self.clientID = clientID
    self.accessTokenLife = max(.seconds(1), accessTokenLife)
    self.signUp = signUp
    self.clients = clients
    self.administrators = administrators
    self.mailFrom = mailFrom
    self.mailLink = mailLink
    self.mailInterval = mailInterval
    self.mailJitter = mailJitter
    self.mailsAtOnce = max(1, mailsAtOnce)
    self.mailLease = max(.seconds(1), mailLease)
    self.notices = notices
    self.devicesLink = devicesLink
    self.appConfig = appConfig
    self.passwordHashing = passwordHashing
    self.passwordPolicy = passwordPolicy
    self.hashingThreads = hashingThreads ?? max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
    self.hashingQueue = hashingQueue
    self.reauthentication = reauthentication
    self.limits = limits
    self.bodyLimit = bodyLimit
    self.heartbeat = heartbeat
    self.shutdownLimit = shutdownLimit
    self.sweepInterval = sweepInterval
    self.idleConnectionLimit = idleConnectionLimit
    self.eventStreams = eventStreams
    self.listener = listener
    self.trustedProxies = trustedProxies
    self.transportSecurity = transportSecurity
    self.logger = logger
    self.metrics = metrics
    self.now = now ?? { .current }
    // A custom wall clock without an uptime agrees with itself.
    switch (uptime, now) {
    case (let uptime?, _): self.uptime = uptime
    case (nil, let now?): self.uptime = { .milliseconds(now().milliseconds) }
    case (nil, nil): self.uptime = { Uptime.current }
    }
    self.trustsClock = trustsClock
  }

  /// The public address that the path of a request is appended to: the issuer without ``mountPath``.
  ///
  /// - Throws: ``MountPathFault`` if the mount path is not valid, or the issuer does not end with it.
  func publicAddress() throws(MountPathFault) -> String {
    guard !mountPath.isEmpty else { return issuer }
    let parts = mountPath.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    guard mountPath.hasPrefix("/"), parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(MountPathFault.isPlain) }),
      issuer.hasSuffix(mountPath)
    else { throw MountPathFault(issuer: issuer, mountPath: mountPath) }
    return String(issuer.dropLast(mountPath.count))
  }

  /// The sender of mails.
  var sender: String {
    mailFrom ?? "handstamp@" + (URLComponents(string: issuer)?.host ?? "localhost")
  }
}

/// The mount path is not a plain path such as `/auth`, or the issuer does not end with it.
public struct MountPathFault: Error, Sendable, Hashable, CustomStringConvertible {
  public let issuer: String
  public let mountPath: String
  public var description: String { "the issuer \(issuer) must end with the mount path, a plain path, not \(mountPath)" }

  /// Returns whether a byte may be in a segment: an unreserved character (RFC 3986 section 2.3).
  fileprivate static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 65...90, 97...122: true
    default: "-._~".utf8.contains(byte)
    }
  }
}
#endif
