import Foundation
import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) struct `A session's ID token` {
  private let clock = ManualClock()
  private let vault = MemoryVault()

  /// Tokens with an ID token, unless its lifetime is `nil`.
  private func tokens(_ number: Int, idLife: Duration? = .seconds(300)) -> TokenResponse {
    var response = TokenResponse.sample(number)
    response.idToken = idLife.map { IDToken(Secret("id-\(number)"), expiresIn: $0) }
    return response
  }

  private func session(
    _ backend: ScriptedBackend, idLife: Duration? = .seconds(300), presence: PresenceLock? = nil
  ) async throws -> SessionController {
    let session = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock, presence: presence)
    try await session.signIn(with: tokens(0, idLife: idLife), by: .init(.password))
    return session
  }

  private func text(_ session: SessionController, for validity: Duration = .zero) async throws(SessionError) -> String {
    try await session.identityToken(minimumValidity: validity).secret.withExposed { $0 }
  }

  @Test func `is handed out until it expires, then replaced by that of a refresh`() async throws {
    let backend = ScriptedBackend { call, _, _ in .granted(tokens(call)) }
    let session = try await session(backend)
    #expect(try await text(session) == "id-0")
    clock.advance(by: .seconds(300) - .nanoseconds(1))
    #expect(try await text(session) == "id-0" && backend.calls.isEmpty)
    clock.advance(by: .nanoseconds(1))
    #expect(try await text(session) == "id-1" && backend.calls.count == 1)
    // The refresh renewed the session as well.
    #expect(try await session.token() == AccessToken("access-s1-1"))
    clock.advance(by: .seconds(250))
    #expect(try await text(session) == "id-1")
    #expect(try await text(session, for: .seconds(60)) == "id-2")
    // At most four fifths of its lifetime, as of an access token.
    #expect(try await text(session, for: .seconds(3600)) == "id-2" && backend.calls.count == 2)
  }

  @Test func `stays if a refresh brings none, and is never handed out once it has expired`() async throws {
    let backend = ScriptedBackend { call, _, _ in .granted(tokens(call, idLife: call == 3 ? .seconds(300) : nil)) }
    let session = try await session(backend)
    clock.advance(by: .seconds(100))
    _ = try await session.token(replacing: try await session.token())
    #expect(try await text(session) == "id-0" && backend.calls.count == 1)
    clock.advance(by: .seconds(200))
    await #expect(throws: SessionError.idTokenExpired) { try await text(session) }
    // One refresh was tried; another would bring none either.
    await #expect(throws: SessionError.idTokenExpired) { try await text(session) }
    #expect(backend.calls.count == 2 && session.state.isSignedIn)
    clock.advance(by: .seconds(601))
    #expect(try await session.token() == AccessToken("access-s1-3"))
    #expect(try await text(session) == "id-3")
  }

  @Test func `that ends soon is better than none`() async throws {
    let backend = ScriptedBackend { call, _, _ in .granted(tokens(call, idLife: nil)) }
    let session = try await session(backend)
    clock.advance(by: .seconds(250))
    #expect(try await text(session, for: .seconds(60)) == "id-0")
    #expect(try await text(session, for: .seconds(60)) == "id-0" && backend.calls.count == 1)
  }

  @Test func `needs no server while it is valid, and is not said to be missing without one`() async throws {
    let backend = ScriptedBackend { _, _, _ in .noDecision(.network(.timedOut)) }
    let session = try await session(backend, idLife: .seconds(700))
    clock.advance(by: .seconds(650))
    #expect(try await text(session) == "id-0" && backend.calls.isEmpty, "the access token has expired")
    #expect(try await text(session, for: .seconds(60)) == "id-0" && backend.calls.count == 1)
    clock.advance(by: .seconds(50))
    await #expect(throws: SessionError.requestFailed(.network(.timedOut))) { try await text(session) }
  }

  @Test func `is missing at a server that sends none, which is asked for no refresh`() async throws {
    let backend = ScriptedBackend { call, _, _ in .granted(tokens(call)) }
    let session = try await session(backend, idLife: nil)
    await #expect(throws: SessionError.noIDToken) { try await text(session) }
    #expect(backend.calls.isEmpty)
  }

  @Test func `is in the vault for other processes, and gone with the session`() async throws {
    let backend = ScriptedBackend { call, _, _ in .granted(tokens(call)) }
    let session = try await session(backend)
    let other = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    #expect(try await text(other) == "id-0")
    guard case .value(let entry) = await vault.read() else { throw VaultError.corrupt }
    #expect(!"\(entry)".contains("id-0"))
    #expect(entry.session?.withAccessOnly.idToken == nil, "it is as protected as the refresh token")
    _ = await session.signOut()
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await text(session) }
    guard case .value(let rest) = await vault.read() else { throw VaultError.corrupt }
    #expect(rest.session == nil)
    #expect(!rest.encoded.withExposed { $0.contains("id-0") })
  }

  @Test func `is not said to be missing while the vault is locked`() async throws {
    let backend = ScriptedBackend { call, _, _ in .granted(tokens(call)) }
    _ = try await session(backend)
    guard case .value(let entry) = await vault.read(), let stored = entry.session else { throw VaultError.corrupt }
    let locked = FaultyVault(vault)
    await locked.set { $0.reading = .accessOnly(stored.withAccessOnly) }
    let other = SessionController(backend: backend, vault: locked, policy: quiet, clock: clock)
    #expect(try await other.token() == AccessToken("access-s1-0"))
    await #expect(throws: SessionError.storage(.locked)) { try await text(other) }
    await locked.set { $0.reading = nil }
    await other.retryPendingWork()
    while true {
      do throws(SessionError) {
        let shown = try await text(other)
        #expect(shown == "id-0")
        break
      } catch { #expect(error == .storage(.locked)) }
    }
  }

  @Test func `does not outlast a session that the server has ended`() async throws {
    let backend = ScriptedBackend { _, _, _ in .rejected(.revoked) }
    let session = try await session(backend, idLife: .seconds(86_400))
    clock.advance(by: .seconds(601))
    await #expect(throws: SessionError.sessionEnded(.revoked)) { try await session.token() }
    await #expect(throws: SessionError.signedOut(.revoked)) { try await text(session) }
  }

  @Test func `is behind the presence lock`() async throws {
    let backend = ScriptedBackend { call, _, _ in .granted(tokens(call)) }
    let person = ScriptedPresence()
    let lock = PresenceLock(person, policy: .untilExit, reason: "to read", clock: clock)
    let session = try await session(backend, presence: lock)
    #expect(try await text(session) == "id-0")
    #expect(person.reasons == ["to read"])
  }

  @Test @MainActor func `is what the manager returns`() async throws {
    let backend = ScriptedBackend { call, _, _ in .granted(tokens(call)) }
    let url = try #require(URL(string: "https://api.example.org"))
    let manager = SessionManager<Void>(backend: backend, vault: vault, baseURL: url, policy: quiet, clock: clock)
    try await manager.signIn { tokens(0) }
    #expect(try await manager.identityToken() == Secret("id-0"))
  }
}
