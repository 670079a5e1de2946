#if Exploration
import HandstampCore
import HandstampRegistry

/// Two pages of one browser that sign in, and what they do with the cookie that the browser has.
final class SignInBrowser: SignInStage {
  var made: [String] = []
  private(set) var problem: String?
  private let server: SignInServer
  private let fault: SignInExploration.Fault?
  private let device = DeviceInfo(id: DeviceID("browser"), name: "browser", platform: "web")
  /// The cookie that the browser has.
  private var jar: Secret?
  /// The sign-ins of the pages on their way, each with the cookie that it was sent with.
  private var requests: [Secret?] = []
  private var answers: [Secret] = []
  /// Other requests on their way, with their cookies.
  private var others: [Secret] = []
  private var now = SignInServer.start.advanced(by: .seconds(10_000))
  private var (pagesLeft, usesLeft, passesLeft) = (2, 3, 1)

  init(isSignedIn: Bool, _ fault: SignInExploration.Fault?) async throws {
    self.fault = fault
    server = try await SignInServer()
    guard isSignedIn else { return }
    let first = try await server.registry.beginBrowserSession(
      by: .password(of: server.ada), on: device, now: SignInServer.start)
    jar = first.cookie
    _ = try await server.registry.browserSession(first.cookie, now: SignInServer.start)
  }

  var moves: [SignInMove] {
    guard problem == nil else { return [] }
    var moves: [SignInMove] = []
    if pagesLeft > 0 { moves.append(.send(2 - pagesLeft)) }
    moves += requests.indices.map { .serve($0, keepsCopy: false) }
    for number in answers.indices { moves += [.arrive(number), .lose(number)] }
    if usesLeft > 0, jar != nil { moves.append(.use) }
    moves += others.indices.map { .reach($0) }
    // No response is in flight for as long.
    if passesLeft > 0, answers.isEmpty, requests.isEmpty, others.isEmpty { moves.append(.pass) }
    return moves
  }

  func perform(_ move: SignInMove) async throws {
    switch move {
    case .send:
      pagesLeft -= 1
      requests.append(jar)
    case .serve(let number, _):
      let cookie = requests.remove(at: number)
      now = now.advanced(by: .milliseconds(1))
      var user: BrowserSession?
      if let cookie { user = try await server.registry.browserSession(cookie, now: now) }
      let new: BrowserSession
      if let user {
        new = try await server.registry.reauthenticate(user, by: .password(of: server.ada), now: now)
      } else {
        new = try await server.registry.beginBrowserSession(by: .password(of: server.ada), on: device, now: now)
      }
      if fault == .previousEndsAtCommit { _ = try await server.registry.browserSession(new.cookie, now: now) }
      answers.append(new.cookie)
    case .arrive(let number): jar = answers.remove(at: number)
    case .lose(let number): answers.remove(at: number)
    case .use:
      usesLeft -= 1
      if let jar { others.append(jar) }
    case .reach(let number): try await reach(others.remove(at: number))
    case .pass:
      passesLeft -= 1
      now = now.advanced(by: PendingSession.life + .seconds(1))
    case .confirm, .crash: break
    }
  }

  private func reach(_ cookie: Secret) async throws {
    let time = fault == .cookiesEndAtOnce ? now.advanced(by: PendingSession.life) : now
    let user = try await server.registry.browserSession(cookie, now: time)
    // A request with a cookie that the browser no longer has may be refused: its page asks again.
    if user == nil, cookie == jar { problem = "the browser was signed out" }
  }

  func finish() async throws {
    for cookie in others { try await reach(cookie) }
    if let jar, problem == nil { try await reach(jar) }
  }

  func fingerprint() async throws -> Int {
    var hasher = Hasher()
    for row in await server.rows() { hasher.combine(row) }
    hasher.combine(jar)
    hasher.combine(requests)
    hasher.combine(answers)
    hasher.combine(others)
    hasher.combine(now)
    hasher.combine([pagesLeft, usesLeft, passesLeft])
    return hasher.finalize()
  }
}
#endif
