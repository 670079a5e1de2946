public import HandstampCore
import HandstampSupport

/// A program that gets access tokens for itself, without a user: a service, a job, a script.
///
/// ```swift
/// let client = OAuthClient(issuer: "https://id.example.org", id: "nightly", secret: secret, scopes: ["reports"])
/// let machine = MachineClient(client, transport: transport)
/// let token = try await machine.token()
/// ```
///
/// The token is kept in memory until it is about to expire; nothing is stored, because another process gets its own as easily. However
/// many tasks ask at once, one request is sent.
public actor MachineClient {
  /// The proof that a client presents for a token.
  public enum Grant: Sendable {
    /// Its own secret or key (RFC 6749 section 4.4): see ``OAuthClient/secret`` and ``OAuthClient/key``.
    case clientCredentials
    /// An assertion of an issuer that the server trusts, such as the ID token of a CI's job (RFC 7523 section 2.1). Called for every
    /// token, so that it can return a fresh one.
    case assertion(@Sendable () async throws(SessionError) -> Secret)
  }

  /// How long before its end a token is replaced, at most: a request with it may take that long.
  private static let margin = Duration.seconds(30)

  /// The registration of the program at the server.
  public nonisolated let client: OAuthClient
  private let backend: OAuthBackend
  private let grant: Grant
  private let uptime: @Sendable () -> Duration
  private var held: Held?
  private var asking: Task<Result<Held, SessionError>, Never>?

  private struct Held: Sendable {
    var token: AccessToken
    /// By the uptime; `nil` if the server did not say.
    var endsAt: Duration?
    var life: Duration?

    /// How long it has to be valid still, so that it need not be replaced. A new token may not last longer.
    func least(for asked: Duration) -> Duration {
      guard let life else { return .zero }
      return max(min(asked, life * 4 / 5), min(MachineClient.margin, life / 5))
    }
  }

  /// Creates a client. Sends nothing before the first request.
  ///
  /// - Parameters:
  ///   - transport: the transport to the token endpoint.
  ///   - prover: binds every token to a key (RFC 9449); `nil` for bearer tokens.
  public init(
    _ client: OAuthClient, grant: Grant = .clientCredentials, transport: any Transport,
    proving prover: DPoPProver? = nil, time: OAuthTime = .system
  ) {
    let start = ContinuousClock().now
    self.init(client, grant: grant, transport: transport, proving: prover, time: time) {
      start.duration(to: ContinuousClock().now)
    }
  }

  /// - Parameter uptime: a clock that no user sets, and that goes on while the machine sleeps.
  package init(
    _ client: OAuthClient, grant: Grant = .clientCredentials, transport: any Transport,
    proving prover: DPoPProver? = nil, time: OAuthTime = .system, uptime: @escaping @Sendable () -> Duration
  ) {
    self.client = client
    self.grant = grant
    self.uptime = uptime
    backend = OAuthBackend(client, transport: transport, proving: prover, time: time)
  }

  /// Returns a valid token: the one in memory, unless it is about to expire.
  ///
  /// While the server cannot be reached, a token that is still valid is returned rather than an error.
  ///
  /// - Parameters:
  ///   - life: how long it has to be valid at least, up to four fifths of its lifetime.
  ///   - rejected: a token that an API has answered with 401, which is replaced if it is the one in memory.
  public func token(
    validFor life: Duration = .zero, replacing rejected: AccessToken? = nil
  ) async throws(SessionError) -> AccessToken {
    if let held, held.token != rejected, isValid(held, for: held.least(for: life)) { return held.token }
    switch await ask().value {
    case .success(let new): return new.token
    case .failure(let error):
      if case .requestFailed = error, let held, held.token != rejected, isValid(held, for: .zero) { return held.token }
      throw error
    }
  }

  /// How long the token in memory is valid; `nil` if there is none, or the server did not say.
  public var remaining: Duration? { held?.endsAt.map { max(.zero, $0 - uptime()) } }

  private func isValid(_ held: Held, for life: Duration) -> Bool {
    held.endsAt.map { $0 - uptime() > life } ?? true
  }

  /// The request in flight, or a new one. It goes on if its first caller is cancelled: others wait for it.
  private func ask() -> Task<Result<Held, SessionError>, Never> {
    if let asking { return asking }
    let task = Task { () -> Result<Held, SessionError> in
      let result = await request()
      asking = nil
      if case .success(let new) = result { held = new }
      return result
    }
    asking = task
    return task
  }

  private func request() async -> Result<Held, SessionError> {
    let start = uptime()
    do throws(SessionError) {
      var fields = [("grant_type", Secret("client_credentials"))]
      if case .assertion(let assertion) = grant {
        fields = [
          ("grant_type", Secret("urn:ietf:params:oauth:grant-type:jwt-bearer")), ("assertion", try await assertion()),
        ]
      }
      let tokens = try await backend.ownTokens(fields)
      guard let token = tokens.access else { throw .invalidResponse("not a token response") }
      let life = tokens.expiresIn
      return .success(Held(token: token, endsAt: life.map { start + $0 }, life: life))
    } catch { return .failure(error) }
  }
}
