#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampOAuth

/// One account's session.
struct AccountClient: Sendable {
  let home: Home
  let account: ListedAccount
  /// The value of `--account` that chose the account; `nil` if it was not chosen that way.
  let name: String?
  let vault: SealedFileVault
  let identity: ServerBackend
  let session: SessionManager<Void>
  /// The account's server: its network, and the protocol of its sign-in.
  let remote: AccountServer
  /// Sends requests with the session's token.
  let transport: any Transport
  /// The session's backend, which notes how deliveries went.
  let deliveries: DeliveryWatch

  /// Starts restoring the session. Sends nothing except pending revocations.
  ///
  /// - Parameters:
  ///   - isShortLived: Whether the program ends before changes by other processes matter.
  ///   - minimumAge: A token younger than this is not replaced.
  @MainActor init(
    home: Home, account: ListedAccount, named name: String? = nil, clock: any SessionClock = SystemClock(),
    isShortLived: Bool = true, minimumAge: Duration = .seconds(5)
  ) throws(CommandError) {
    try home.check()
    let baseURL = try account.serverAddress.url
    (self.home, self.account, self.name) = (home, account, name)
    var vault = home.vault(of: account.id)
    vault.isWatched = !isShortLived
    let remote = try AccountServer(of: account, in: home)
    let record = remote.access?.record
    (self.vault, self.remote, transport) = (vault, remote, remote.provingTransport(in: home))
    identity = try AccountClient.identity(at: remote.address, home: home, over: remote.transport)
    if record != nil { Interruption.arrange() }
    deliveries = DeliveryWatch(remote.access ?? identity, of: account, in: home, record)
    session = SessionManager(
      backend: deliveries, vault: vault, earlier: [], baseURL: baseURL, transport: transport,
      policy: AccountClient.policy(minimumAge: minimumAge, reuse: record?.reuse), clock: clock,
      audit: FileAuditLog(vault, in: vault.auditPlace, program: "handstamp", omitting: [.restore, .adopt]),
      presence: nil, clearing: nil, cleanups: [], logger: Verbosity.logger, apiOptions: APIClient.Options()
    ) { _ in }
  }

  /// Short-lived: no refresh timer, and few retries.
  private static func policy(minimumAge: Duration, reuse: RefreshTokenReuse?) -> SessionPolicy {
    SessionPolicy(
      refresh: RefreshPolicy(usesTimer: false, minimumAge: minimumAge, reuse: reuse),
      retry: RetryPolicy(attempts: 3, cap: .seconds(5)))
  }

  var controller: SessionController { session.controller }
  var api: APIClient { session.api }

  /// Returns a backend for a server before the account is known.
  static func identity(
    at server: ServerAddress, home: Home, deviceName: String? = nil, over transport: any Transport
  ) throws(CommandError) -> ServerBackend {
    let device = ServerBackend.Device(id: try home.device(), name: deviceName ?? ServerBackend.deviceName)
    return ServerBackend(baseURL: try server.url, device: device, transport: transport)
  }

  var server: ServerAddress { remote.address }
  /// The OAuth backend; `nil` for Handstamp's own protocol.
  var access: OAuthAccess? { remote.access }

  /// Runs `body`, which may wait for a refresh, and says so at a terminal.
  func waiting<Result, Failure: Error>(_ body: () async throws(Failure) -> Result) async throws(Failure) -> Result {
    try await WaitLine.shared.during(
      server.text,
      pause: { [controller] in
        await controller.refreshPause.map { "the last refresh got no answer; the next attempt is in \($0.words)" }
      }, body)
  }

  /// Returns a valid access token.
  ///
  /// - Parameter mayBeBound: Whether it may be bound to a key; else its receiver can use it alone.
  func token(minimumValidity: Duration = .zero, mayBeBound: Bool = false) async throws(CommandError) -> AccessToken {
    if !mayBeBound { try refuseBound() }
    do throws(SessionError) {
      return try await waiting { () async throws(SessionError) in
        try await controller.token(minimumValidity: minimumValidity)
      }
    } catch {
      throw await refusal(error)
    }
  }

  /// Returns a valid ID token.
  func identityToken(minimumValidity: Duration = .zero) async throws(CommandError) -> StoredIDToken {
    do throws(SessionError) {
      return try await waiting { () async throws(SessionError) in
        try await controller.identityToken(minimumValidity: minimumValidity)
      }
    } catch .noIDToken {
      throw CommandError(
        .failure, "this session has no ID token",
        hint: access == nil
          ? "an ID token comes with OpenID Connect; run: handstamp login --issuer \(shellWord(server.text)) --browser --force "
            + "--client-id ID, with the client ID that the cluster or service expects"
          : "request it; run: handstamp login --force\(clientOption) --scope openid, with your other scopes",
        code: "no_id_token"
      )
      .about(name)
    } catch .idTokenExpired {
      throw CommandError(
        .signInNeeded, "the ID token has expired, and \(server.text) sends no other one with a refresh",
        hint: "run: handstamp login --force\(clientOption)", code: "id_token_expired"
      )
      .about(name)
    } catch {
      throw await refusal(error)
    }
  }

  /// Returns a valid access token for `target`. All processes share it.
  func token(for target: TokenTarget, minimumValidity: Duration) async throws(CommandError) -> HandedToken {
    try refuseBound()
    // Also of a session that another process has begun, and of which this one has not heard yet.
    if let known = await storedToken(for: target, minimumValidity) { return known }
    do throws(SessionError) {
      let token = try await waiting { () async throws(SessionError) in
        try await controller.token(for: target, minimumValidity: minimumValidity)
      }
      let isStored = await storedToken(for: target, .zero)
      return HandedToken(secret: token.secret, end: isStored?.token == token ? isStored?.end : nil)
    } catch .noTargets {
      throw CommandError(
        .failure, "this session has one access token, for \(server.text) alone",
        hint: "for others, run: handstamp login --issuer \(shellWord(server.text)) --browser --force --client-id ID, "
          + "with a client that may have them",
        code: "not_offered"
      )
      .about(name)
    } catch {
      // The server's word on another token is no word on the session.
      if let refusal = refusal(error, for: target) { throw refusal }
      throw await refusal(error)
    }
  }

  /// The client of the account, for hints that sign in again.
  private var clientOption: String { access.map { " --client-id \(shellWord($0.record.client))" } ?? "" }

  private func storedToken(for target: TokenTarget, _ validity: Duration) async -> HandedToken? {
    guard let access = await vault.session?.targeted[target], let token = access.token,
      SessionMachine.serves(access.lifetime, for: validity, at: SystemClock().now())
    else { return nil }
    return HandedToken(secret: token.secret, end: access.lifetime?.end)
  }

  /// Describes an error of this session for the terminal; where the server has kept refusing, also since when.
  func refusal(_ error: SessionError) async -> CommandError {
    if case .storage(let trouble) = error, access?.trouble == trouble {
      let refusal = CommandError(trouble).about(name)
      return refusal.saying("cannot read the client secret: \(refusal.message)")
    }
    if let refusal = lostKey(error) { return refusal }
    switch error {
    // No response: what the server said before is not the cause now.
    case .requestFailed(.network, _): break
    case .requestFailed:
      let session = await vault.session?.id
      guard let note = home.refusedRefresh(of: account.id, session: session) else { break }
      return ofRegistration(note.refusal(at: SystemClock().now().wall, server: server)).about(name)
    default: break
    }
    let refusal = ofRegistration(CommandError(error, server: server)).about(name)
    guard let access else { return refusal }
    return refusal.asked(of: access.record)
  }

  /// Returns the refusal of a client that had registered itself with the way out of that: no person can register it again.
  private func ofRegistration(_ refusal: CommandError) -> CommandError {
    guard refusal.code == "invalid_client", let registration = access?.record.registration else { return refusal }
    let isOver = registration.secretExpiresAt.map { $0 <= SystemClock().now().wall } ?? false
    let cause =
      isOver ? "the secret of the client, which registered itself, has expired" : "the client registered itself"
    return refusal.saying("\(refusal.message); \(cause); the session is kept").hinting("run: handstamp login --force")
  }

  /// Returns the state once the vault has been read.
  func restored() async -> SessionState {
    for await state in controller.states where state != .restoring { return state }
    return controller.state
  }

  /// Waits until all pending revocations are delivered, for at most `limit`, or until the first failure. Returns whether they
  /// were.
  @discardableResult
  func deliverEnds(within limit: Duration = .seconds(1)) async -> Bool {
    guard case .value(let entry) = await vault.read() else { return true }
    let now = SystemClock().now()
    guard entry.unrevoked.contains(where: { $0.delay?.rest(at: now) ?? .zero <= .zero }) else {
      return entry.unrevoked.isEmpty
    }
    _ = await restored()
    return await withTaskGroup(of: Bool.self) { group in
      group.addTask { await controller.waitForRevocations(timeout: limit) }
      group.addTask {
        await deliveries.failure()
        return false
      }
      let isDelivered = await group.next() ?? false
      group.cancelAll()
      return isDelivered
    }
  }

  /// Whether the stored session is unusable judging by its server's responses: refreshes are refused, or return no tokens and
  /// the access token has expired. If so, says it.
  func isRefused() async -> Bool {
    guard let session = await vault.session, let note = home.refusedRefresh(of: account.id, session: session.id)
    else { return false }
    let now = SystemClock().now()
    let isOver = session.access?.lifetime.map { $0.remaining(at: now) <= .zero } ?? (session.access == nil)
    guard note.isRefusal || isOver else { return false }
    Terminal.say("\(server.text) \(note.words(at: now.wall)); signing in again")
    return true
  }

  /// Returns another token than one that an API has refused.
  ///
  /// - Parameter target: The API and scopes of the token; `nil` for the session's own.
  func token(replacing refused: AccessToken, for target: TokenTarget?) async throws(CommandError) -> HandedToken {
    if let target {
      // Such tokens have no refresh of their own: one that lasts longer is another one.
      let next = try await token(for: target, minimumValidity: .seconds(365 * 86_400))
      guard next.token != refused else { throw CommandError(.tokenRejected, server: server) }
      return next
    }
    do throws(SessionError) {
      let next = try await waiting { () async throws(SessionError) in try await controller.token(replacing: refused) }
      return HandedToken(secret: next.secret)
    } catch { throw await refusal(error) }
  }

  /// Describes a refused token for another API or for fewer scopes; `nil` for an error that is not about the target.
  func refusal(_ error: SessionError, for target: TokenTarget) -> CommandError? {
    guard case .requestFailed(.configuration(let response), _) = error else { return nil }
    switch response.error {
    case "invalid_target":
      return CommandError.refusedTarget(target, at: server, client: access?.record.client)
    case "invalid_scope": return CommandError(error, server: server).about(name)
    default: return nil
    }
  }
}

extension SealedFileVault {
  /// The stored session; `nil` if there is none, or the vault cannot be opened.
  var session: StoredSession? {
    get async { if case .value(let entry) = await read() { entry.session } else { nil } }
  }
}

extension CommandError {
  /// The server has answered `invalid_target` (RFC 8707 section 2).
  static func refusedTarget(_ target: TokenTarget, at server: ServerAddress, client: String?) -> CommandError {
    let api = target.resource ?? target.audience ?? target.scopes.joined(separator: " ")
    let receiver = client.map { " to the client \($0.onOneLine)" } ?? ""
    let entry = client.map { "the client \($0.onOneLine)" } ?? "the client"
    return CommandError(
      .configuration, "\(server.text) issues no token for \(api.onOneLine)\(receiver)",
      hint: "have its operator allow \(entry) that API; at a Handstamp server, add \(api.onOneLine) to the "
        + "\"audiences\" of \(entry) in the file of clients, and reload the server",
      code: "invalid_target")
  }
}

/// The server of one account: its network, and the protocol of its sign-in.
struct AccountServer: Sendable {
  let address: ServerAddress
  /// Sends requests without proofs of possession.
  let transport: any Transport
  /// The OAuth backend; `nil` for Handstamp's own protocol.
  let access: OAuthAccess?

  init(of account: ListedAccount, in home: Home) throws(CommandError) {
    let transport = try home.transport(of: account.id)
    access = try home.oauth(of: account.id).map { OAuthAccess($0, home: home, account: account.id, over: transport) }
    (address, self.transport) = (account.serverAddress, transport)
  }

  /// A server of which no account is known.
  init(_ address: ServerAddress) { (self.address, transport, access) = (address, CommandTransport.shared, nil) }

  /// Sends requests with the session's token, and with a proof of its key if it is bound to one.
  func provingTransport(in home: Home) -> any Transport {
    // Without the key the requests are refused, and the refresh that follows says why.
    guard let record = access?.record, record.isBound == true, let prover = try? home.prover(of: record) else {
      return transport
    }
    return DPoPTransport(transport, prover)
  }
}
#endif
