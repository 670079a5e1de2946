#if Programs
import Foundation
import Handstamp
import HandstampAsyncHTTP
import HandstampCore
import HandstampOAuth
import HandstampVaults

/// One account's session.
struct Client: Sendable {
  let home: Home
  let account: Account
  let vault: SealedFileVault
  let identity: ServerBackend
  let controller: SessionController
  let api: APIClient
  /// `nil` for Handstamp's own protocol.
  let access: OAuthAccess?
  private let watch: DeliveryWatch

  /// Begins to restore the session. Nothing is sent but the news of ended sessions, which the server has not heard of yet.
  ///
  /// - Parameters:
  ///   - isShortLived: whether the program ends before it matters what other processes do meanwhile.
  ///   - minimumAge: how young a token cannot be replaced.
  init(
    home: Home, account: Account, clock: any SessionClock = SystemClock(), isShortLived: Bool = true,
    minimumAge: Duration = .seconds(5)
  ) throws(Refusal) {
    let base = try account.server.url
    self.home = home
    self.account = account
    vault = home.vault(of: account.id)
    identity = try Client.identity(at: account.server, home: home)
    access = try home.oauth(of: account.id).map { OAuthAccess($0, home: home, account: account.id) }
    let backend: any Backend = if let access { access } else { identity }
    if access != nil { Interruption.arrange() }
    watch = DeliveryWatch(backend) { [vault] result, answer in
      await Client.note(result, answer, of: account.id, in: home, vault)
    }
    // Short-lived: no timer of its own, and no long patience with a server that does not answer.
    let policy = SessionPolicy(
      refresh: RefreshPolicy(aheadOfExpiry: false, minimumAge: minimumAge),
      retry: RetryPolicy(attempts: 3, cap: .seconds(5)))
    let shared: any Vault = isShortLived ? UnwatchedVault(base: vault) : vault
    let log = CommandLog(base: FileAuditLog(vault, program: "handstamp"))
    controller = SessionController(vault: shared, backend: watch, policy: policy, clock: clock, audit: log)
    api = APIClient(baseURL: base, controller: controller, transport: AsyncHTTPTransport.shared)
  }

  /// The session of the account that was named, else of the active one.
  static func chosen(
    _ options: AccountOptions, isShortLived: Bool = true, minimumAge: Duration = .seconds(5)
  ) async throws(Refusal) -> Client {
    let home = try Home.current()
    let account = try options.chosen(try await AccountBook(of: home))
    return try Client(home: home, account: account, isShortLived: isShortLived, minimumAge: minimumAge)
  }

  /// Speaks with a server, before it is known for whom.
  static func identity(
    at server: ServerAddress, home: Home, deviceName: String? = nil
  ) throws(Refusal) -> ServerBackend {
    let device = ServerBackend.Device(id: try home.device(), name: deviceName ?? hostName)
    return ServerBackend(
      baseURL: try server.url, device: device, transport: WitnessedTransport(base: AsyncHTTPTransport.shared))
  }

  /// Writes down an answer that brought no tokens and ends nothing; after any other, forgets what was written down.
  private static func note(
    _ result: Result<Grant, RefreshFailure>, _ answer: TokenEndpointAnswer?, of account: AccountID, in home: Home,
    _ vault: SealedFileVault
  ) async {
    switch result {
    case .success, .failure(.rejected), .failure(.rolledBack), .failure(.unusable):
      home.forgetRefusal(of: account)
    case .failure(.refused), .failure(.notSent), .failure(.unreachable):
      // Without an answer, what the server said last still holds.
      guard let answer, case .value(let entry) = await vault.read(), let session = entry.session else { return }
      home.note(answer, of: account, session: session.id, at: SystemClock().now().wall)
    }
  }

  /// What the server answers to refreshes, where it brings no tokens and the access token is over; `nil`: it brings some, or no
  /// answer came, or the access token is good.
  ///
  /// - Parameter orValid: also while the access token is good, for a refresh that was asked for.
  func refusedRefresh(orValid: Bool = false) async -> Refusal? {
    guard case .value(let entry) = await vault.read(), let session = entry.session,
      let note = home.refusedRefresh(of: account.id, session: session.id)
    else { return nil }
    let now = SystemClock().now()
    guard orValid || session.access?.lifetime.map({ $0.remaining(at: now) <= .zero }) ?? true else { return nil }
    return note.refusal(at: now.wall, server: server).about(account)
  }

  var server: ServerAddress { account.server }

  /// A token, or a refusal.
  func token(minimumValidity: Duration = .zero) async throws(Refusal) -> AccessToken {
    do throws(SessionError) {
      let token = try await WaitLine.shared.during(server.text) { () async throws(SessionError) in
        try await controller.token(minimumValidity: minimumValidity)
      }
      await settle()
      return token
    } catch {
      await settle()
      throw await refusal(error)
    }
  }

  /// What an error of this session means at a terminal. A secret that cannot be read looks like a server that does not answer; and
  /// where the server did answer, it is said what, and since when.
  func refusal(_ error: SessionError) async -> Refusal {
    if case .unreachable = error {
      if let trouble = access?.trouble {
        let refusal = Refusal(trouble).about(account)
        return refusal.saying("the client's secret cannot be read: \(refusal.message)")
      }
      if let refusal = await refusedRefresh(orValid: true) { return refusal }
    }
    let refusal = Refusal(error, account: account)
    guard let access else { return refusal }
    return refusal.asked(of: access.record)
  }

  /// Returns when what happened is in the audit log: to be called before the program ends.
  func settle() async { await controller.auditWritten() }

  /// The state once the vault has answered.
  func restored() async -> SessionState {
    for await state in controller.states where state != .restoring { return state }
    return controller.state
  }

  /// Whether there is a way to tell the server of the end of the session that is stored; true where none is stored.
  func canRevoke() async -> Bool {
    guard case .value(let entry) = await vault.read(), let session = entry.session else { return true }
    return session.revocation != nil
  }

  /// How many ended sessions the server has not been told of.
  func pendingEnds() async -> Int {
    guard case .value(let entry) = await vault.read() else { return 0 }
    return entry.tombstones.count { $0.revocation != nil }
  }

  /// Waits until the server knows of every ended session, at most for `limit`, and not after the first failure. Tells
  /// whether it does.
  @discardableResult
  func deliverEnds(within limit: Duration = .seconds(1)) async -> Bool {
    guard case .value(let entry) = await vault.read() else { return true }
    let pending = entry.tombstones.filter { $0.revocation != nil }
    let now = SystemClock().now()
    guard pending.contains(where: { $0.delay?.rest(at: now) ?? .zero <= .zero }) else { return pending.isEmpty }
    _ = await restored()
    return await withTaskGroup(of: Bool.self) { group in
      group.addTask { await controller.endsDelivered(within: limit) }
      group.addTask {
        await watch.failure()
        return false
      }
      let isDelivered = await group.next() ?? false
      group.cancelAll()
      return isDelivered
    }
  }

  /// Why the server refuses a token that is too young to be replaced, if the session has ended meanwhile; then it ends here
  /// as well. The session's own server is asked, and no other is believed; a foreign one has no such answer.
  func reasonOfEnd() async -> EndReason? {
    do throws(Refusal) { if try await foreign() != nil { return nil } } catch { return nil }
    guard case .value(let entry) = await vault.read(), let session = entry.session, let access = session.access else {
      return nil
    }
    let header = HeaderField("Authorization", access.token.secret.withExposed { "Bearer " + $0 })
    let request = TransportRequest(method: "GET", url: server.text + "/v1/me", headers: [header])
    guard let answer = try? await AsyncHTTPTransport.shared.send(request), answer.status == 401,
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(answer.body)), problem.code == "session_ended"
    else { return nil }
    let reason = problem.reason.flatMap { EndReason(rawValue: $0) } ?? .rejected
    await controller.sessionEnded(session.id, reason: reason)
    for await state in controller.states {
      guard case .signedIn(let facts) = state, facts.session == session.id else { break }
    }
    return reason
  }

  /// Whether the session that is stored is of no use any more as far as its server's answers tell: refreshes are refused, or bring
  /// nothing and the access token is over.
  func isRefused(sayingSo: Bool = false) async -> Bool {
    guard case .value(let entry) = await vault.read(), let session = entry.session,
      let note = home.refusedRefresh(of: account.id, session: session.id)
    else { return false }
    let now = SystemClock().now()
    let isOver = session.access?.lifetime.map { $0.remaining(at: now) <= .zero } ?? (session.access == nil)
    guard note.isRefusal || isOver else { return false }
    if sayingSo { Terminal.say("\(server.text) \(note.words(at: now.wall)); signing in again") }
    return true
  }

  /// As the kernel knows it; asking further may ask the network.
  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "terminal" }
    let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.isEmpty ? "terminal" : text
  }
}
#endif
