#if Server
import Foundation
public import HandstampCore
public import Logging

/// What an operator decides about a session server.
public struct ServerConfiguration: Sendable {
  /// How accounts come to be.
  public enum SignUp: String, Sendable, Hashable, CaseIterable {
    /// A session at once. An address that has an account already is told so: not for servers open to the world.
    case open
    /// The same answer for every address; the account, and its session, come with the link of a mail.
    case confirmed
    /// Nobody can sign up.
    case closed
  }

  /// The `iss` of every token, and its audience: the address under which the server is known, an `https` URL without a
  /// slash at its end. It does not need to be the address that the server listens on.
  public var issuer: String
  /// The `client_id` of the tokens that the first-party API gives out (RFC 9068 section 2.2).
  public var clientID: String
  /// How long an access token is good. From 1 s; what is shorter counts as 1 s. Default 10 min.
  public var accessTokenLife: Duration
  public var signUp: SignUp
  /// The other programs that people may let in to their accounts.
  public var clients: [ConfiguredClient]
  /// Whom mails are from. Nothing: `handstamp@` and the host of the issuer.
  public var mailFrom: String?
  /// What a mail's link looks like, with `{token}` and, if wanted, `{action}`, which is `confirm` or `reset`: an address of
  /// the operator's app or page. Nothing: mails have a code to be typed in.
  public var mailLink: String?
  /// The least time between two mails of one kind to one address; a request in between has the same answer, and no mail.
  public var mailInterval: Duration
  /// How many mails may wait to be written; more are answered 503.
  public var mailQueue: Int
  /// What apps read at `GET /v1/app-config`: a JSON object of the operator's.
  public var appConfig: String
  public var passwordHashing: Argon2Parameters
  /// How many passwords are hashed at once.
  public var hashingThreads: Int
  /// How many hashes may wait beside those; more are answered 503.
  public var hashingQueue: Int
  /// The largest body of a request, in bytes.
  public var bodyLimit: Int
  /// The pause after which a silent event stream says that it is alive.
  public var heartbeat: Duration
  /// How long open requests have to end when the server is told to stop.
  public var shutdownLimit: Duration
  /// How often sessions that ended by themselves are looked for.
  public var sweepInterval: Duration
  /// A connection without a request for this long is closed.
  public var idleConnectionLimit: Duration
  public var logger: Logger
  /// The wall clock. A jump of it decides nothing, see ``uptime``.
  public var now: @Sendable () -> UnixTime
  /// A clock that only ever goes on, from any beginning: what the wall clock is compared with. When that jumps, by more than ten
  /// seconds, the time before counts, carried on by this clock, until both have agreed for ten minutes.
  public var uptime: @Sendable () -> Duration
  /// Whether the wall clock counts at start, although the last time in the registry makes it look wrong.
  public var trustsClock: Bool

  /// - Parameters:
  ///   - hashingThreads: `nil`: one core is left for everything else, where there are several.
  ///   - now: the wall clock; `nil`: the machine's.
  ///   - uptime: what it is compared with; `nil`: the machine's own, or, beside a `now` of one's own, the same as that.
  public init(
    issuer: String = "http://localhost",
    clientID: String = "handstamp",
    accessTokenLife: Duration = .seconds(600),
    signUp: SignUp = .open,
    clients: [ConfiguredClient] = [],
    mailFrom: String? = nil,
    mailLink: String? = nil,
    mailInterval: Duration = .seconds(60),
    mailQueue: Int = 256,
    appConfig: String = "{}",
    passwordHashing: Argon2Parameters = .recommended,
    hashingThreads: Int? = nil,
    hashingQueue: Int = 64,
    bodyLimit: Int = 64 * 1024,
    heartbeat: Duration = .seconds(15),
    shutdownLimit: Duration = .seconds(10),
    sweepInterval: Duration = .seconds(60),
    idleConnectionLimit: Duration = .seconds(120),
    logger: Logger = Logger(label: "handstamp.server"),
    now: (@Sendable () -> UnixTime)? = nil,
    uptime: (@Sendable () -> Duration)? = nil,
    trustsClock: Bool = false
  ) {
    self.issuer = issuer
    self.clientID = clientID
    self.accessTokenLife = max(.seconds(1), accessTokenLife)
    self.signUp = signUp
    self.clients = clients
    self.mailFrom = mailFrom
    self.mailLink = mailLink
    self.mailInterval = mailInterval
    self.mailQueue = mailQueue
    self.appConfig = appConfig
    self.passwordHashing = passwordHashing
    self.hashingThreads = hashingThreads ?? max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
    self.hashingQueue = hashingQueue
    self.bodyLimit = bodyLimit
    self.heartbeat = heartbeat
    self.shutdownLimit = shutdownLimit
    self.sweepInterval = sweepInterval
    self.idleConnectionLimit = idleConnectionLimit
    self.logger = logger
    self.now = now ?? { .current }
    // A clock of one's own that comes alone agrees with itself.
    switch (uptime, now) {
    case (let uptime?, _): self.uptime = uptime
    case (nil, let now?): self.uptime = { .milliseconds(now().milliseconds) }
    case (nil, nil): self.uptime = { Uptime.current }
    }
    self.trustsClock = trustsClock
  }

  /// Whom mails are from.
  var sender: String {
    mailFrom ?? "handstamp@" + (URLComponents(string: issuer)?.host ?? "localhost")
  }
}
#endif
