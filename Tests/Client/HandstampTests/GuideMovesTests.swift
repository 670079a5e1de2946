import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// The guides as a program that follows one after the other: the user stays signed in, and a sign-out leaves nothing alive.
///
/// A pair, or a chain of guides that link each other, has one point at which the program is killed, the disk is full or the device is
/// locked, drawn by a seed that is printed. `HANDSTAMP_DEEP=1 make test FILTER=GuideMovesTests` tries every order of up to four and every
/// point.
@MainActor @Suite(.timeLimit(.minutes(30))) struct `The guides, one after the other` {
  /// Where a guide keeps the session. Guides with the same place need no move.
  enum Guide: CaseIterable, Sendable {
    /// FromKeychainHelpers and FromSupabase: what the app had before.
    case ownTokens
    /// QuickStart, YourOwnServer, FromAuth0; FromSupabase on Linux: `.sealedFile(name)`, and `SessionManager(server:)` on Linux.
    case sealedFile
    /// `SessionManager(server:)` on Apple platforms, StorageClasses, FromSupabase.
    case keychain
    /// Extensions.
    case accessGroup
    /// StorageClasses.
    case background
    /// `Accounts(name)`.
    case accounts
  }

  enum Kind: CaseIterable, Sendable { case own, strict, lasting }

  /// The trouble in the middle of a move.
  enum Trouble: CaseIterable, Sendable {
    /// The program ends, and is started again.
    case killed
    /// The disk takes no writes for a while, and the program goes on.
    case full
    /// The device is locked for a while, and the program goes on.
    case locked

    var error: VaultError {
      switch self {
      case .killed: .unavailable("dead")
      case .full: .full("no space left on device")
      case .locked: .locked
      }
    }
  }

  private static let isDeep = ProcessInfo.processInfo.environment["HANDSTAMP_DEEP"] != nil
  private static let targets = Guide.allCases.filter { $0 != .ownTokens }

  /// Those that the guides link, and every pair.
  private static var sequences: [[Guide]] {
    var all = Guide.allCases.flatMap { first in targets.filter { $0 != first }.map { [first, $0] } }
    all += [
      [.ownTokens, .keychain, .accessGroup, .background], [.ownTokens, .sealedFile, .accounts],
      [.keychain, .accessGroup, .background, .keychain], [.sealedFile, .keychain, .accounts, .keychain],
    ]
    guard isDeep else { return all }
    for _ in 0..<2 {
      all += all.filter { $0.count > 1 && $0.count < 4 }.flatMap { chain in
        targets.filter { $0 != chain.last }.map { chain + [$0] }
      }
    }
    return Array(Set(all))
  }

  @Test(arguments: Kind.allCases) func `sign no user out, and leave none in`(kind: Kind) async throws {
    let seed = ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
    print("guides: SEED=\(seed)")
    var random = SplitMix64(state: seed)
    for sequence in Self.sequences {
      let step = Int.random(in: 1..<sequence.count, using: &random)
      // Few moves need more edits than these.
      let points = Self.isDeep ? Array(0..<12) : [Int.random(in: 0..<8, using: &random)]
      for point in points {
        let trouble = Trouble.allCases.randomElement(using: &random) ?? .killed
        let stage = try GuideStage(kind, trouble)
        do {
          try await stage.follow(sequence, troubledIn: step, after: point)
        } catch {
          Issue.record("\(kind) \(sequence), \(trouble) in step \(step) after \(point) edits, SEED=\(seed): \(error)")
        }
      }
    }
  }
}

extension `The guides, one after the other` {
  @MainActor @Test func `move a session that an extension shares to accounts that it shares`() async throws {
    let (clock, device, folder) = (ManualClock(), EmulatedKeychain.Device(), try Folder())
    let server = try GuideServer(.strict, clock: clock)
    func vault(_ account: AccountID = AccountID("default"), group: String? = "team.shared") -> KeychainVault {
      KeychainVault(
        EmulatedKeychain(device, groups: ["team.app", "team.shared"]), service: "org.example.forum", account: account,
        folder: folder.vaults, accessGroup: group, inBackground: true)
    }
    let grant = try await server.signIn()
    try await SessionController(backend: server, vault: vault(), clock: clock).signIn(with: grant, by: .init(.password))
    // The standard place, which names no group.
    let adopted = Locked<[AccountID: [EarlierPlace]]>([:])
    let accounts = Accounts<Void>(
      store: MemoryAccountsStore(), clock: clock, observesChanges: false, earlier: [.vault(vault(group: nil))],
      adopted: adopted
    ) { account in
      SessionManager(
        backend: server, vault: vault(account), earlier: adopted.withLock { $0[account, default: []] }, baseURL: base,
        transport: StubTransport { _ in .init(status: 200) }, clock: clock
      ) { _ in }
    }
    await accounts.load()
    #expect(accounts.activeID == AccountID("ada"))
    _ = try await accounts.active?.token()
    // The extension reads the account's place, and nothing is left in the other one.
    let widget = SessionController(backend: server, vault: vault(AccountID("ada")), clock: clock)
    #expect(try await widget.token().secret.count > 0)
    guard case .value(let rest) = await vault().load() else {
      throw VaultError.unavailable("the earlier place cannot be read")
    }
    #expect(rest.session == nil)
    #expect(await server.alive == 1)
  }
}

extension `The guides, one after the other`.Guide {
  fileprivate var isKeychain: Bool { [.keychain, .accessGroup, .background].contains(self) }
}

/// A device, on which one version of an app after the other is installed.
private struct GuideStage: Sendable {
  typealias Guide = `The guides, one after the other`.Guide
  typealias Kind = `The guides, one after the other`.Kind
  typealias Trouble = `The guides, one after the other`.Trouble
  struct Broken: Error, CustomStringConvertible { var description: String }

  let clock = ManualClock()
  let server: GuideServer
  let device = EmulatedKeychain.Device()
  let folder: Folder
  let store = MemoryAccountsStore()
  let trouble: Trouble
  /// The edits that are left until the trouble begins.
  let left = Locked(Int.max)
  let ownTokens = Locked<TokenResponse?>(nil)

  init(_ kind: Kind, _ trouble: Trouble) throws {
    self.trouble = trouble
    server = try GuideServer(kind, clock: clock)
    folder = try Folder()
  }

  private func vault(_ guide: Guide, _ account: AccountID = AccountID("default")) -> any Vault {
    func keychain(_ group: String?, _ inBackground: Bool) -> KeychainVault {
      KeychainVault(
        EmulatedKeychain(device, groups: ["team.app", "team.shared"]), service: "org.example.forum", account: account,
        folder: folder.vaults, accessGroup: group, inBackground: inBackground)
    }
    let vault: any Vault =
      switch guide {
      case .ownTokens, .sealedFile, .accounts: SealedFileVault(folder: folder.vaults, account: account)
      case .keychain: keychain(nil, false)
      case .accessGroup: keychain("team.shared", false)
      case .background: keychain("team.shared", true)
      }
    return DyingVault(vault, left, trouble.error)
  }

  /// The lines of the app's new version that name the place of the one before.
  private func earlierPlaces(_ previous: Guide, for guide: Guide) -> [EarlierPlace] {
    switch previous {
    case .ownTokens:
      [
        .tokens(read: { [ownTokens, left, trouble] in
          guard trouble == .full || left.withLock({ $0 }) > 0 else { throw trouble.error }
          return ownTokens.withLock { $0 }
        }) { [ownTokens, left, trouble] in
          guard
            left.withLock({
              $0 -= 1; return $0 >= 0
            })
          else { throw trouble.error }
          ownTokens.withLock { $0 = nil }
        }
      ]
    case .sealedFile: [.vault(vault(.sealedFile))]
    case .accounts:
      [EarlierPlace(kind: .accounts(store, vault: { [self] in vault(.accounts, $0) }))]
    // The group and the level change within the keychain.
    case .keychain, .accessGroup, .background: guide.isKeychain ? [] : [.vault(vault(.background))]
    }
  }

  @MainActor private func open(_ guide: Guide, after previous: Guide?) async -> SessionController? {
    let policy = SessionPolicy(
      refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: 1, base: .zero))
    let places = previous.map { earlierPlaces($0, for: guide) } ?? []
    guard guide == .accounts else {
      return SessionController(
        backend: server, vault: vault(guide), earlier: places, policy: policy, clock: clock)
    }
    let adopted = Locked<[AccountID: [EarlierPlace]]>([:])
    let accounts = Accounts<Void>(
      store: store, clock: clock, observesChanges: false, earlier: places, adopted: adopted
    ) { [self] account in
      SessionManager(
        backend: server, vault: vault(.accounts, account),
        earlier: adopted.withLock { $0[account, default: []] }, baseURL: base,
        transport: StubTransport { _ in .init(status: 200) }, policy: policy, clock: clock
      ) { _ in }
    }
    await accounts.load()
    return accounts.active?.controller
  }

  @MainActor func follow(_ sequence: [Guide], troubledIn step: Int, after point: Int) async throws {
    let grant = try await server.signIn()
    if sequence[0] == .ownTokens {
      var bare = grant
      bare.tokens.expiresIn = .zero
      ownTokens.withLock { $0 = bare }
    } else if sequence[0] == .accounts {
      let accounts = Accounts<Void>(store: store, clock: clock, observesChanges: false) { [self] account in
        SessionManager(
          backend: server, vault: vault(.accounts, account), baseURL: base,
          transport: StubTransport { _ in .init(status: 200) }, clock: clock
        ) { _ in }
      }
      try await accounts.add { grant }
    } else {
      try await open(sequence[0], after: nil)?.signIn(with: grant, by: .init(.password))
    }
    for (number, guide) in sequence.enumerated().dropFirst() {
      clock.advance(by: .seconds(3600))
      let previous = sequence[number - 1]
      if number == step {
        left.withLock { $0 = point }
        // While it moves, or while it refreshes. That the response to a refresh is lost is another test's matter.
        await server.pause(true)
        let app = await open(guide, after: previous)
        _ = try? await app?.token()
        await server.pause(false)
        left.withLock { $0 = .max }
        if trouble != .killed, let app {
          // A refresh that was announced is awaited, and so is the pause after a failed read or write, which may begin only now.
          clock.advance(by: .seconds(3600))
          if (try? await app.token()) == nil {
            clock.advance(by: .seconds(3600))
            _ = try await app.token()
          }
        }
      }
      guard let app = await open(guide, after: previous) else { throw Broken(description: "no account in \(guide)") }
      // A refresh that the killed program announced is awaited.
      clock.advance(by: .seconds(3600))
      _ = try await app.token()
    }
    clock.advance(by: .seconds(3600))
    let last = sequence[sequence.count - 1]
    guard let app = await open(last, after: nil) else { throw Broken(description: "no account") }
    _ = try await app.token()
    let report = await app.signOut()
    guard report.storageError == nil, await app.waitForRevocations(timeout: .seconds(60)) else {
      throw Broken(description: "not signed out: \(report)")
    }
    let alive = await server.alive
    guard alive == 0 else { throw Broken(description: "\(alive) tokens are alive") }
    for guide in Guide.allCases where guide != .ownTokens {
      guard let again = await open(guide, after: nil) else { continue }
      _ = try? await again.token()
      guard case .signedOut = again.state else { throw Broken(description: "\(guide): \(again.state)") }
    }
    guard ownTokens.withLock({ $0 == nil }) else { throw Broken(description: "the app's tokens are still there") }
  }
}

/// A server that counts what is alive: with rotation keys, strict without them, or one that never rotates.
private actor GuideServer: Backend {
  nonisolated let abilities: BackendAbilities
  private let own: TestServer?
  private let rotates: Bool
  private var tokens: Set<Secret> = []
  private var sessions: [SessionID] = []
  private var count = 0
  private var isPaused = false

  init(_ kind: `The guides, one after the other`.Kind, clock: ManualClock) throws {
    own = kind == .own ? try TestServer(clock: clock) : nil
    rotates = kind == .strict
    abilities = BackendAbilities(
      supportsRotationKeys: kind == .own, issuer: "https://id.example.org", revokesRefreshTokens: kind != .own)
  }

  func pause(_ isPaused: Bool) { self.isPaused = isPaused }

  /// The sessions, or tokens, that a thief could still use.
  var alive: Int {
    get async {
      var alive = tokens.count
      for session in sessions where (try? await own?.isLive(session)) ?? false { alive += 1 }
      return alive
    }
  }

  func signIn() async throws -> TokenResponse {
    if let own {
      let grant = try await own.signIn("ada")
      if let session = grant.sessionID { sessions.append(session) }
      return grant
    }
    let tokens = issue()
    return TokenResponse(tokens: tokens, profile: Profile(id: AccountID("ada"), name: "Ada"))
  }

  private func issue() -> TokenSet {
    count += 1
    let refresh = RefreshToken("refresh-\(count)")
    tokens.insert(refresh.secret)
    return TokenSet(access: AccessToken("access-\(count)"), expiresIn: .seconds(600), refresh: refresh)
  }

  func refresh(_ request: RefreshRequest) async -> RefreshResult {
    if isPaused { return .noDecision(.network(.notConnected("paused"))) }
    if let own { return await own.refresh(request) }
    guard tokens.contains(request.token.secret) else {
      tokens = []
      return .rejected(.tokenReuseDetected)
    }
    if rotates {
      tokens.remove(request.token.secret)
      return .granted(TokenResponse(tokens: issue()))
    }
    count += 1
    return .granted(
      TokenResponse(
        tokens: TokenSet(access: AccessToken("access-\(count)"), expiresIn: .seconds(600), refresh: request.token)))
  }

  func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    if let own { return await own.revoke(handle) }
    tokens.remove(handle.secret)
    return .ended
  }
}

private final class Folder: Sendable {
  let vaults: String
  private let path: String

  init() throws {
    path = NSTemporaryDirectory() + "handstamp-guides-\(UUID().uuidString)"
    vaults = path + "/vault"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
