#if canImport(Combine) || Exploration
import HandstampTesting
import HandstampUI
import Observation
import Testing

@testable import Handstamp

#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A session as an observable object` {
  typealias Session = SessionManager<String>

  private func session() -> Session {
    Session(backend: NoAccounts(), vault: MemoryVault(), baseURL: base) { _ in "content" }
  }

  private func grant() -> TokenResponse {
    TokenResponse(
      tokens: TokenSet(access: AccessToken("a"), expiresIn: .seconds(600), refresh: RefreshToken("r")), sessionID: "s",
      profile: Profile(id: "ada", name: "Ada"))
  }

  @Test func `publishes session and flag together, once both have changed`() async throws {
    let session = session()
    let object = ObservableSession(session)
    let harness = ViewUpdates(of: object.objectWillChange)
    let seen = Values()
    let listening = object.$snapshot.sink {
      seen.add($0.session.value.flatMap { $0 } != nil, $0.content.value != nil)
    }
    try await session.signIn { grant() }
    await harness.wait { object.isAuthenticated && object.snapshot.content == .success("content") }
    #expect(object.currentUser?.name == "Ada" && !object.isAnonymous)
    await session.signOut()
    await harness.wait { !object.isAuthenticated && !object.isWorking }
    #expect(object.snapshot.endReason == .signedOut)
    #expect(seen.pairs.allSatisfy { isAuthenticated, hasContent in isAuthenticated || !hasContent })
    #expect(harness.violations == 0 && harness.count >= 2)
    listening.cancel()
  }

  @Test func `has the session's four states, of which a vault that is read or locked is not signed out`() async throws {
    let faulty = FaultyVault(MemoryVault())
    await faulty.set { $0.reading = .trouble(.locked) }
    let session = Session(backend: NoAccounts(), vault: faulty, baseURL: base) { _ in "content" }
    let object = ObservableSession(session)
    #expect(object.state == .restoring && !object.isAuthenticated)
    await othersFirst { object.state == .unavailable(.storage(.locked)) }
    #expect(!object.isAuthenticated)
    await faulty.set { $0.reading = nil }
    await session.restoreSession()
    await othersFirst { object.state == .signedOut(nil) }
    try await session.signIn { grant() }
    await othersFirst { object.isAuthenticated }
    #expect(object.state == session.state)
    await session.signOut()
    await othersFirst { object.state == .signedOut(.signedOut) }
  }

  @Test func `publishes nothing during a view update`() async throws {
    let session = session()
    await session.restoreSession()
    let object = ObservableSession(session)
    let harness = ViewUpdates(of: object.objectWillChange)
    harness.update { session.begin() }
    #expect(!object.isWorking && harness.count == 0)
    await harness.wait { object.isWorking }
    harness.update { Task { await session.end() } }
    await harness.wait { !object.isWorking }
    #expect(harness.violations == 0)
  }

  /// Demonstrates the harness with the obvious first attempt at an adapter.
  @Test func `is needed: a naive adapter publishes during a view update, and before the change`() async throws {
    let session = session()
    await session.restoreSession()
    let naive = NaiveSession(session)
    let harness = ViewUpdates(of: naive.objectWillChange)
    harness.update { session.begin() }
    #expect(harness.violations == 1)
    await session.end()
  }

  @Test func `combines simultaneous changes into one`() async throws {
    let session = session()
    await session.restoreSession()
    let object = ObservableSession(session)
    let harness = ViewUpdates(of: object.objectWillChange)
    for _ in 0..<10 { session.begin() }
    await harness.wait { object.isWorking }
    #expect(harness.count == 1)
    for _ in 0..<10 { await session.end() }
    await harness.wait { !object.isWorking }
  }

  @Test func `is deallocated with its last reference`() async throws {
    let session = session()
    weak var object: ObservableSession<String>?
    do {
      let strong = ObservableSession(session)
      object = strong
      #expect(strong.session === session)
    }
    try await session.signIn { grant() }
    // A change that is about to be published may hold it for a moment.
    await othersFirst { object == nil }
  }
}

/// Marks a view update, and counts the changes published inside it.
@MainActor final class ViewUpdates {
  private(set) var count = 0
  private(set) var violations = 0
  private var isUpdating = false
  private var listening: AnyCancellable?

  init(of publisher: ObservableObjectPublisher) {
    listening = publisher.sink { [weak self] in MainActor.assumeIsolated { self?.sent() } }
  }

  private func sent() {
    count += 1
    if isUpdating { violations += 1 }
  }

  func update(_ body: () -> Void) {
    isUpdating = true
    body()
    isUpdating = false
  }

  func wait(until isWanted: () -> Bool) async {
    await othersFirst(until: isWanted)
  }
}

@MainActor final class Values {
  private(set) var pairs: [(Bool, Bool)] = []
  nonisolated func add(_ first: Bool, _ second: Bool) { MainActor.assumeIsolated { pairs.append((first, second)) } }
}

@MainActor private final class NaiveSession: ObservableObject {
  @Published var isAuthenticated = false
  private let session: SessionManager<String>

  init(_ session: SessionManager<String>) {
    self.session = session
    withObservationTracking {
      _ = session.snapshot
    } onChange: { [weak self] in
      MainActor.assumeIsolated { self?.isAuthenticated = session.isAuthenticated }
    }
  }
}
#endif
