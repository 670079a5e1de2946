#if Server
/// How often something may happen: up to ``burst`` times at once, and then once per ``interval`` (a token bucket).
public struct RateLimit: Sendable, Hashable {
  /// At least 1.
  public let burst: Int
  /// The time after which one more is allowed, at least 1 µs.
  public let interval: Duration

  public init(burst: Int, every interval: Duration) {
    self.burst = max(1, burst)
    self.interval = max(.microseconds(1), interval)
  }

  /// How long an unused bucket takes to fill.
  var window: Duration { interval * burst }
}

/// The limits of the server's operations. Each counts apart; `nil` is no limit.
///
/// They are kept in memory: a restart forgets them, and each of several servers on one store counts its own. The count of wrong
/// passwords is not among them: it is stored, see ``GuessCount``.
public struct ServerLimits: Sendable, Hashable {
  /// The limits of one operation.
  public struct Rule: Sendable, Hashable {
    /// By client address; an IPv6 address counts as its /64.
    public var perAddress: RateLimit?
    /// By what the operation is about: an email address, a session, an account or an OAuth client.
    public var perSubject: RateLimit?
    /// By all clients together.
    public var overall: RateLimit?

    public init(perAddress: RateLimit? = nil, perSubject: RateLimit? = nil, overall: RateLimit? = nil) {
      self.perAddress = perAddress
      self.perSubject = perSubject
      self.overall = overall
    }
  }

  /// A limited operation. The raw value names the limit in responses.
  public enum Operation: String, Sendable, Hashable, CaseIterable {
    /// Checks of a password or a passkey: sign-in, reauthentication, change of a password, deletion of an
    /// account. The subject is the address.
    case passwords = "passwords"
    /// New accounts, guests included.
    case signUps = "sign-ups"
    /// Mails that anyone can cause to be sent. The subject is the address they go to.
    case mails = "mails"
    /// Codes from mails that are redeemed.
    case codes = "codes"
    /// Device authorizations that begin. The subject is the OAuth client.
    case devices = "devices"
    /// Authorization requests that clients push. The subject is the OAuth client.
    case pushedRequests = "pushed-requests"
    /// Introspections. The subject is the OAuth client.
    case introspections = "introspections"
    /// Refreshes with a genuine token. The subject is the session; a limit by address would look like a sign-out.
    case refreshes = "refreshes"
    /// Tokens that OAuth clients get for themselves. The subject is the client.
    case machines = "machines"
    /// Sessions of the former system that are taken over. The subject is their token.
    case takeOvers = "take-overs"
    /// Clients that register themselves.
    case registrations = "registrations"
    /// Requests with a wrong secret or assertion of an OAuth client.
    case clientFailures = "client-failures"
    /// Requests with a wrong token of an administrator.
    case adminFailures = "admin-failures"
  }

  private var rules: [Operation: Rule]

  public subscript(operation: Operation) -> Rule {
    get { rules[operation, default: Rule()] }
    set { rules[operation] = newValue }
  }

  private init(_ rules: [Operation: Rule]) { self.rules = rules }

  /// No limits, for tests and measurements.
  public static let none = ServerLimits([:])

  /// Limits for a server on the open internet: people behind one address are not stopped, floods are.
  public static let standard = ServerLimits([
    .passwords: Rule(
      perAddress: RateLimit(burst: 30, every: .seconds(2)), overall: RateLimit(burst: 200, every: .milliseconds(20))),
    .signUps: Rule(
      perAddress: RateLimit(burst: 20, every: .seconds(30)), overall: RateLimit(burst: 200, every: .milliseconds(200))),
    .mails: Rule(
      perAddress: RateLimit(burst: 20, every: .seconds(30)), perSubject: RateLimit(burst: 5, every: .seconds(600)),
      overall: RateLimit(burst: 200, every: .milliseconds(200))),
    .codes: Rule(
      perAddress: RateLimit(burst: 30, every: .seconds(10)), overall: RateLimit(burst: 200, every: .milliseconds(50))),
    .devices: Rule(
      perAddress: RateLimit(burst: 20, every: .seconds(5)), perSubject: RateLimit(burst: 200, every: .milliseconds(50)),
      overall: RateLimit(burst: 400, every: .milliseconds(50))),
    .pushedRequests: Rule(
      perAddress: RateLimit(burst: 20, every: .seconds(5)), perSubject: RateLimit(burst: 200, every: .milliseconds(50)),
      overall: RateLimit(burst: 400, every: .milliseconds(50))),
    .introspections: Rule(perSubject: RateLimit(burst: 20_000, every: .microseconds(100))),
    .refreshes: Rule(perSubject: RateLimit(burst: 60, every: .seconds(1))),
    .machines: Rule(perSubject: RateLimit(burst: 200, every: .milliseconds(100))),
    .takeOvers: Rule(
      perAddress: RateLimit(burst: 100, every: .milliseconds(200)),
      perSubject: RateLimit(burst: 20, every: .seconds(1)),
      overall: RateLimit(burst: 400, every: .milliseconds(10))),
    .registrations: Rule(perAddress: RateLimit(burst: 10, every: .seconds(360))),
    .clientFailures: Rule(
      perAddress: RateLimit(burst: 20, every: .seconds(10)), overall: RateLimit(burst: 2000, every: .milliseconds(5))),
    .adminFailures: Rule(
      perAddress: RateLimit(burst: 10, every: .seconds(30)), overall: RateLimit(burst: 100, every: .seconds(1))),
  ])
}
#endif
