#if Command
import Foundation
import Handstamp
import HandstampCore
import HandstampOAuth
import HandstampVaults

/// One account's session.
struct AccountClient: Sendable {
  let home: Home
  let account: Account
  let vault: SealedFileVault
  let identity: ServerBackend
  let session: SessionManager<DeliveryWatch, Void>
  /// The OAuth backend; `nil` for Handstamp's own protocol.
  let access: OAuthAccess?

  /// Starts restoring the session. Sends nothing except pending revocations.
  ///
  /// - Parameters:
  ///   - isShortLived: Whether the program ends before changes by other processes matter.
  ///   - minimumAge: A token younger than this is not replaced.
  @MainActor init(
    home: Home, account: Account, clock: any SessionClock = SystemClock(), isShortLived: Bool = true,
    minimumAge: Duration = .seconds(5)
  ) throws(CommandError) {
    let base = try account.server.url
    self.home = home
    self.account = account
    vault = home.vault(of: account.id)
    identity = try AccountClient.identity(at: account.server, home: home)
    let record = try home.oauth(of: account.id)
    access = record.map { OAuthAccess($0, home: home, account: account.id) }
    let backend: any Backend = if let access { access } else { identity }
    if access != nil { Interruption.arrange() }
    let watch = DeliveryWatch(backend) {
      do { return OAuthRecord.isSameClient(try home.oauth(of: account.id), record) } catch { return false }
    } former: {
      await home.formerBackend(of: $0, account)
    } refreshed: { [vault] result in
      await AccountClient.note(result, of: account.id, in: home, vault)
    }
    // Short-lived: no refresh timer, and few retries.
    let policy = SessionPolicy(
      refresh: RefreshPolicy(usesTimer: false, minimumAge: minimumAge, reuse: record?.reuse),
      retry: RetryPolicy(attempts: 3, cap: .seconds(5)))
    var shared = vault
    shared.isWatched = !isShortLived
    let log = CommandLog(base: FileAuditLog(vault, program: "handstamp"))
    session = SessionManager(
      backend: watch, vault: shared, baseURL: base, transport: CommandTransport.shared, policy: policy, clock: clock,
      audit: log, logger: Verbosity.logger
    ) { _ in }
  }

  var controller: SessionController { session.controller }
  var api: APIClient { session.api }

  /// Returns the client of the named account, else of the active one.
  static func chosen(
    _ options: AccountOptions, isShortLived: Bool = true, minimumAge: Duration = .seconds(5)
  ) async throws(CommandError) -> AccountClient {
    let home = try Home.current()
    let account = try options.chosen(try await AccountBook(of: home))
    return try await AccountClient(home: home, account: account, isShortLived: isShortLived, minimumAge: minimumAge)
  }

  /// Returns a backend for a server before the account is known.
  static func identity(
    at server: ServerAddress, home: Home, deviceName: String? = nil
  ) throws(CommandError) -> ServerBackend {
    let device = ServerBackend.Device(id: try home.device(), name: deviceName ?? ServerBackend.deviceName)
    return ServerBackend(baseURL: try server.url, device: device, transport: CommandTransport.shared)
  }

  /// Stores a response that has no tokens and does not end the session; any other response clears the stored one.
  private static func note(
    _ result: RefreshResult, of account: AccountID, in home: Home, _ vault: SealedFileVault
  ) async {
    switch result {
    case .granted, .rejected, .superseded, .noDecision(.unusableTokens(_, .some), _):
      home.forgetRefusal(of: account)
    case .noDecision(.server(let answer), _), .noDecision(.configuration(let answer), _):
      guard case .value(let entry) = await vault.read(), let session = entry.session else { return }
      home.note(answer, of: account, session: session.id, at: SystemClock().now().wall)
    // Without a response, the last stored one still applies.
    case .noDecision: break
    }
  }

  /// Describes why refreshes fail, if the access token has expired and the server's last response had no tokens; else `nil`.
  ///
  /// - Parameter orValid: Also while the access token is valid, for a refresh that was requested explicitly.
  func refusedRefresh(orValid: Bool = false) async -> CommandError? {
    guard case .value(let entry) = await vault.read(), let session = entry.session,
      let note = home.refusedRefresh(of: account.id, session: session.id)
    else { return nil }
    let now = SystemClock().now()
    guard orValid || session.access?.lifetime.map({ $0.remaining(at: now) <= .zero }) ?? true else { return nil }
    return note.refusal(at: now.wall, server: server).about(account)
  }

  var server: ServerAddress { account.server }

  /// Runs `body`, which may wait for a refresh, and says so at a terminal.
  func waiting<Result, Failure: Error>(_ body: () async throws(Failure) -> Result) async throws(Failure) -> Result {
    try await WaitLine.shared.during(
      server.text,
      pause: { [controller] in
        await controller.refreshPause.map { "the last refresh got no answer; the next attempt is in \($0.words)" }
      }, body)
  }

  /// Returns a valid access token.
  func token(minimumValidity: Duration = .zero) async throws(CommandError) -> AccessToken {
    do throws(SessionError) {
      let token = try await waiting { () async throws(SessionError) in
        try await controller.token(minimumValidity: minimumValidity)
      }
      await settle()
      return token
    } catch {
      await settle()
      throw await refusal(error)
    }
  }

  /// Describes an error of this session for the terminal; where the server has kept refusing, also since when.
  func refusal(_ error: SessionError) async -> CommandError {
    if case .storage(let trouble) = error, access?.trouble == trouble {
      let refusal = CommandError(trouble).about(account)
      return refusal.saying("cannot read the client secret: \(refusal.message)")
    }
    switch error {
    // No response: what the server said before is not the cause now.
    case .requestFailed(.network, _): break
    case .requestFailed: if let refusal = await refusedRefresh(orValid: true) { return refusal }
    default: break
    }
    let refusal = CommandError(error, account: account)
    guard let access else { return refusal }
    return refusal.asked(of: access.record)
  }

  /// Waits until the audit log is written. Call this before the program ends.
  func settle() async { await controller.flushAuditLog() }

  /// Returns the state once the vault has been read.
  func restored() async -> SessionState {
    for await state in controller.states where state != .restoring { return state }
    return controller.state
  }

  /// Whether the stored session can be revoked at the server; true if no session is stored.
  func canRevoke() async -> Bool {
    guard case .value(let entry) = await vault.read(), let session = entry.session else { return true }
    return session.revocation != nil
  }

  /// The number of pending revocations.
  func pendingEnds() async -> Int {
    guard case .value(let entry) = await vault.read() else { return 0 }
    return entry.tombstones.count { $0.revocation != nil }
  }

  /// Waits until all pending revocations are delivered, for at most `limit`, or until the first failure. Returns whether they
  /// were.
  @discardableResult
  func deliverEnds(within limit: Duration = .seconds(1)) async -> Bool {
    guard case .value(let entry) = await vault.read() else { return true }
    let pending = entry.tombstones.filter { $0.revocation != nil }
    let now = SystemClock().now()
    guard pending.contains(where: { $0.delay?.rest(at: now) ?? .zero <= .zero }) else { return pending.isEmpty }
    _ = await restored()
    return await withTaskGroup(of: Bool.self) { group in
      group.addTask { await controller.waitForRevocations(timeout: limit) }
      group.addTask {
        await session.backend.failure()
        return false
      }
      let isDelivered = await group.next() ?? false
      group.cancelAll()
      return isDelivered
    }
  }

  /// Whether the stored session is unusable judging by its server's responses: refreshes are refused, or return no tokens and
  /// the access token has expired.
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
}
#endif
