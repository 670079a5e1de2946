#if Exploration
import HandstampCore
import HandstampRegistry
import HandstampTesting

/// Explores sign-ins, exhaustively up to a bound: one client, the shipped ``Registry``, and a network that loses and doubles. Each
/// history is replayed from its beginning, because a store is not a value.
package struct SignInExploration: Sendable {
  /// The kind of client that signs in.
  package enum Client: String, Sendable, CaseIterable {
    /// With a password and a key; signed in on the device before.
    case password
    /// A guest, whose upgrade has a key.
    case guest
    case authorizationCode = "authorization code"
    case deviceCode = "device code"
    /// Two pages of a browser that is not signed in.
    case browser
    /// Two pages of a browser that is signed in: its user proves it again.
    case signedInBrowser = "signed-in browser"
  }

  package enum Fault: Sendable {
    /// A sign-in ends the previous session when it is committed.
    case previousEndsAtCommit
    /// The use of a cookie ends all older ones.
    case cookiesEndAtOnce
  }

  package struct Finding: Sendable, CustomStringConvertible {
    package var text: String
    package var path: [String]
    package var description: String { "\(text), after: \(path.joined(separator: ", "))" }
  }

  package private(set) var states = 0
  package private(set) var findings: [Finding] = []

  /// - Parameter depth: the number of moves in the longest history.
  package init(_ client: Client, planting fault: Fault? = nil, depth: Int) async throws {
    var seen: Set<Int> = []
    var open: [[Int]] = [[]]
    while let path = open.popLast() {
      let stage = try await SignInExploration.stage(client, fault)
      for choice in path { try await stage.make(choice) }
      guard seen.insert(try await stage.fingerprint()).inserted else { continue }
      states += 1
      if stage.problem == nil, path.count == depth || stage.moves.isEmpty { try await stage.finish() }
      if let problem = stage.problem {
        findings.append(Finding(text: problem, path: stage.made))
        // One is enough to mend.
        return
      }
      guard path.count < depth else { continue }
      for choice in stage.moves.indices { open.append(path + [choice]) }
    }
  }
}

/// One history of a sign-in.
protocol SignInStage: AnyObject {
  var moves: [SignInMove] { get }
  var made: [String] { get set }
  var problem: String? { get }
  func perform(_ move: SignInMove) async throws
  /// Brings everything to a good end, and checks that it is one.
  func finish() async throws
  /// A hash of everything that matters for what can happen next.
  func fingerprint() async throws -> Int
}

enum SignInMove: Sendable, Hashable, CustomStringConvertible {
  /// The client sends a request, or the same one again.
  case send(Int)
  /// The server answers a request, which the network may keep a copy of.
  case serve(Int, keepsCopy: Bool)
  /// A response arrives, or is lost.
  case arrive(Int), lose(Int)
  /// The client uses the session that it has.
  case use
  /// A request with a cookie reaches the server.
  case reach(Int)
  /// The client's word that it has stored the session reaches the server.
  case confirm
  case crash
  /// More time passes than a pending session is shown.
  case pass

  var description: String {
    switch self {
    case .send(let page): "send \(page)"
    case .serve(let request, let keepsCopy): "serve \(request)\(keepsCopy ? " and keep a copy" : "")"
    case .arrive(let response): "arrive \(response)"
    case .lose(let response): "lose \(response)"
    case .use: "use"
    case .reach(let request): "reach \(request)"
    case .confirm: "confirm"
    case .crash: "crash"
    case .pass: "pass"
    }
  }
}

extension SignInStage {
  func make(_ choice: Int) async throws {
    let move = moves[choice]
    made.append("\(move)")
    try await perform(move)
  }
}

extension SignInExploration {
  private static func stage(_ client: Client, _ fault: Fault?) async throws -> any SignInStage {
    switch client {
    case .password, .guest, .authorizationCode, .deviceCode: try await SignInClient(client, fault)
    case .browser: try await SignInBrowser(isSignedIn: false, fault)
    case .signedInBrowser: try await SignInBrowser(isSignedIn: true, fault)
    }
  }
}

/// The part of the server that both kinds of stages need.
struct SignInServer: Sendable {
  static let start = UnixTime(seconds: 1_800_000_000)
  let store = MemoryRegistryStore()
  let registry: Registry
  let ada: AccountRecord

  init(isGuest: Bool = false) async throws {
    var source = SplitMix64(state: 7)
    let drawn = SharedNumbers()
    registry = Registry(
      store: store, mint: TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &source)), random: { drawn.next() })
    ada = try await registry.openAccount(
      email: isGuest ? nil : EmailAddress("ada@example.org"), username: "Ada",
      passwordHash: isGuest ? nil : Secret("hash"),
      now: SignInServer.start)
  }

  /// The sessions as the store has them, without what only grows.
  func rows() async -> [SessionRow] {
    var rows = await store.sessions(of: ada.id) + store.endedSessions(of: ada.id)
    for place in rows.indices { rows[place].revision = 0 }
    return rows
  }
}
#endif
