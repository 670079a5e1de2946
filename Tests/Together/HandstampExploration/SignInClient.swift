#if Exploration
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting

/// The same numbers in each history.
final class SharedNumbers: Sendable {
  private let state = Locked(SplitMix64(state: 11))
  func next() -> UInt64 { state.withLock { $0.next() } }
}

/// A client that stores a key, signs in with it, stores the session, and uses it. Its vault follows the real rules of ``VaultEdit``.
final class SignInClient: SignInStage {
  private struct Request: Hashable {
    var number: Int
    var key: RotationKey
  }
  private enum Answer: Hashable {
    case granted(NewSession)
    case refused
  }

  var made: [String] = []
  private(set) var problem: String?
  private let server: SignInServer
  private let client: SignInExploration.Client
  private let fault: SignInExploration.Fault?
  private let code: Secret
  private var vault: VaultEntry
  private var requests: [Request] = []
  private var copies: [Request] = []
  private struct Response: Hashable {
    /// The attempt that sent the request: no other one reads it, for it comes over that one's connection.
    var number: Int
    var answer: Answer
  }
  private var answers: [Response] = []
  private var isWaiting = false
  /// Whether a code cannot be presented any more: it was redeemed, or its client has forgotten the verifier.
  private var isDone = false
  private var redeemsCode: Bool { client == .authorizationCode || client == .deviceCode }
  private var hasToConfirm: SessionRow?
  private var now = SignInServer.start.advanced(by: .seconds(10_000))
  private var (sendsLeft, copiesLeft, usesLeft, crashesLeft, passesLeft) = (3, 1, 2, 1, 1)
  private var (attempts, uses) = (0, 0)

  init(_ client: SignInExploration.Client, _ fault: SignInExploration.Fault?) async throws {
    self.client = client
    self.fault = fault
    server = try await SignInServer(isGuest: client == .guest)
    let first = try await server.registry.createSession(
      by: .password(of: server.ada), SessionStart(device: SignInClient.device), now: SignInServer.start)
    try await server.registry.recordFirstUse(of: first.row, now: SignInServer.start)
    vault = VaultEntry(session: StoredSession(first, server.registry.mint))
    code = try await SignInClient.code(of: client, server, at: now)
  }

  private static let device = DeviceInfo(id: DeviceID("phone"), name: "phone", platform: "test")
  private static let verifier = Secret(String(repeating: "v", count: 43))

  /// A code for this client, if it is one that redeems codes.
  private static func code(
    of client: SignInExploration.Client, _ server: SignInServer, at now: UnixTime
  ) async throws -> Secret {
    guard client == .authorizationCode || client == .deviceCode else { return Secret("") }
    let browser = try await server.registry.beginBrowserSession(
      by: .password(of: server.ada), on: DeviceInfo(id: DeviceID("browser"), name: "browser", platform: "web"), now: now
    )
    guard client == .deviceCode else {
      // RFC 7636 section 4.2, of the verifier above.
      let grant = CodeGrant(
        client: "tool", clientName: "tool", redirectURI: "app:/",
        challenge: "7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM", scope: "profile")
      return try await server.registry.issueCode(grant, by: browser, now: now).secret
    }
    let codes = try await server.registry.beginDevice(
      DeviceGrant(client: "tool", clientName: "tool", scope: "profile"), now: now)
    _ = try await server.registry.answerDevice(showing: codes.user, by: browser, allows: true, now: now)
    return codes.device.secret
  }

  var moves: [SignInMove] {
    guard problem == nil else { return [] }
    var moves: [SignInMove] = []
    if !isWaiting, sendsLeft > 0, !isDone { moves.append(.send(0)) }
    for number in requests.indices {
      moves.append(.serve(number, keepsCopy: false))
      if copiesLeft > 0 { moves.append(.serve(number, keepsCopy: true)) }
    }
    for number in copies.indices { moves.append(.serve(requests.count + number, keepsCopy: false)) }
    for number in answers.indices { moves += [.arrive(number), .lose(number)] }
    if usesLeft > 0, vault.session != nil { moves.append(.use) }
    if hasToConfirm != nil { moves.append(.confirm) }
    if crashesLeft > 0, isWaiting { moves.append(.crash) }
    // A code expires long before.
    if passesLeft > 0, !redeemsCode || isDone { moves.append(.pass) }
    return moves
  }

  func perform(_ move: SignInMove) async throws {
    switch move {
    case .send:
      sendsLeft -= 1
      attempts += 1
      isWaiting = true
      var random = SplitMix64(state: UInt64(attempts))
      apply(.prepareSignIn(PendingSignIn(key: RotationKey(from: &random), purpose: 1, startedAt: now)))
      guard let key = vault.signIn?.key else { return }
      requests.append(Request(number: attempts, key: key))
    case .serve(let number, let keepsCopy):
      let isCopy = number >= requests.count
      let request = isCopy ? copies.remove(at: number - requests.count) : requests.remove(at: number)
      if keepsCopy {
        copiesLeft -= 1
        copies.append(request)
      }
      let answer = try await serve(request)
      // A copy's answer finds no reader.
      if !isCopy { answers.append(Response(number: request.number, answer: answer)) }
    case .arrive(let number):
      let response = answers.remove(at: number)
      guard isWaiting, response.number == attempts else { return }
      isWaiting = false
      isDone = redeemsCode
      guard case .granted(let new) = response.answer else {
        return apply(.forgetSignIn(vault.signIn?.key ?? SignInClient.none))
      }
      let previous = vault.session
      apply(.begin(StoredSession(new, server.registry.mint)))
      hasToConfirm = new.row
      if let previous, previous.id != new.row.id, let handle = previous.revocation,
        client == .password || client == .guest
      {
        _ = try await server.registry.revoke(handle.secret, now: now)
      }
    case .lose(let number):
      if answers.remove(at: number).number == attempts { isWaiting = false }
    case .use:
      usesLeft -= 1
      try await use()
    case .confirm:
      if let row = hasToConfirm { try await server.registry.recordFirstUse(of: row, now: now) }
      hasToConfirm = nil
    case .crash:
      crashesLeft -= 1
      isWaiting = false
      isDone = redeemsCode
      answers = []
    case .pass:
      passesLeft -= 1
      now = now.advanced(by: PendingSession.life + .seconds(1))
    case .reach: break
    }
  }

  private static var none: RotationKey {
    var random = SplitMix64(state: 0)
    return RotationKey(from: &random)
  }

  private func serve(_ request: Request) async throws -> Answer {
    do {
      let new = try await granted(request)
      if let new, fault == .previousEndsAtCommit { try await server.registry.recordFirstUse(of: new.row, now: now) }
      return new.map { .granted($0) } ?? .refused
    } catch RegistryError.keyUsed { return .refused }
  }

  private func granted(_ request: Request) async throws -> NewSession? {
    let registry = server.registry
    let account = try await registry.account(server.ada.id) ?? server.ada
    switch client {
    case .password:
      return try await registry.createSession(
        by: .password(of: account), SessionStart(device: SignInClient.device, key: request.key), now: now)
    case .guest:
      guard account.isGuest else {
        return try await registry.repeatedUpgrade(
          of: account, SessionStart(device: SignInClient.device, key: request.key), now: now)
      }
      guard let email = EmailAddress("ada@example.org") else { return nil }
      return try await registry.upgrade(
        account, to: .password(email, hash: Secret("hash")), username: "Ada",
        SessionStart(device: SignInClient.device, key: request.key), now: now)
    case .authorizationCode:
      let claim = CodeClaim(client: "tool", redirectURI: "app:/", verifier: SignInClient.verifier, key: request.key)
      if case .signedIn(let new, _) = try await registry.redeemCode(code, claim, now: now) { return new }
      return nil
    case .deviceCode:
      if case .signedIn(let new, _) = try await registry.redeemDevice(code, client: "tool", key: request.key, now: now)
      {
        return new
      }
      return nil
    case .browser, .signedInBrowser: return nil
    }
  }

  /// Refreshes with the token in the vault. A refusal is the fault that is searched for.
  private func use() async throws {
    guard let session = vault.session, let token = session.refresh else { return }
    uses += 1
    var random = SplitMix64(state: 1000 + UInt64(uses))
    let row = try await server.registry.storedSession(session.id)
    let outcome = try await server.registry.refresh(
      token, key: RotationKey(from: &random).wireText, client: row?.client?.id, now: now)
    guard case .issued(let issue) = outcome else {
      problem = "the client was signed out: \(outcome)"
      return
    }
    let tokens = TokenSet(access: AccessToken("a"), refresh: server.registry.mint.refreshToken(issue.token))
    apply(
      .advance(session.id, RefreshedTokens(TokenResponse(tokens: tokens), sent: token, since: session.startedAt)))
  }

  func finish() async throws {
    try await use()
    guard problem == nil, let session = vault.session else { return }
    // What the client does not have is no longer shown.
    now = now.advanced(by: PendingSession.life + .seconds(1))
    let shown = try await server.registry.sessions(of: server.ada.id, now: now).filter { $0.kind != .browser }
    let previous = redeemsCode ? 1 : 0
    guard shown.contains(where: { $0.id == session.id }), shown.count <= 1 + previous else {
      problem = "\(shown.count) sessions are shown"
      return
    }
  }

  private func apply(_ edit: VaultEdit) {
    if case .write(let new) = edit.applied(to: vault) { vault = new }
    vault.revision = 0
  }

  func fingerprint() async throws -> Int {
    var hasher = Hasher()
    for row in await server.rows() { hasher.combine(row) }
    hasher.combine(vault)
    hasher.combine(requests)
    hasher.combine(copies)
    hasher.combine(answers)
    hasher.combine([isWaiting, isDone, hasToConfirm != nil])
    hasher.combine(now)
    hasher.combine([sendsLeft, copiesLeft, usesLeft, crashesLeft, passesLeft, attempts])
    return hasher.finalize()
  }
}

extension StoredSession {
  fileprivate init(_ new: NewSession, _ mint: TokenMint) {
    let start = Moment(boot: 1, uptime: .zero, wall: SignInServer.start)
    self.init(
      id: new.row.id, profile: nil, refresh: mint.refreshToken(new.token),
      revocation: mint.revocationHandle(for: new.row.session),
      access: StoredAccess(token: AccessToken("a"), lifetime: nil), startedAt: start, activeAt: start)
  }
}
#endif
