import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The data that a session clears at its end although the app has passed no step.
@MainActor @Suite(.timeLimit(.minutes(10))) struct `A sign-out without steps of the app` {
  /// Each test has a domain of its own: sessions of one host know of each other in the whole process.
  private let domain = "\(UUID().uuidString.lowercased()).example"
  private var host: String { "api." + domain }
  private var url: URL { URL(string: "https://\(host)/") ?? base }

  private func session(_ id: String, vault: any Vault = MemoryVault()) async throws -> SessionManager<Void> {
    let session = SessionManager(
      backend: ScriptedBackend.rotating(), vault: vault, baseURL: url,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: ManualClock())
    try await session.signIn { tokens(of: id) }
    return session
  }

  private func tokens(of id: String) -> TokenResponse {
    var response = TokenResponse.sample(0, session: "session-\(id)")
    response.profile = Profile(id: account(id), name: id)
    return response
  }

  private func account(_ id: String) -> AccountID { AccountID("\(id) of \(domain)") }

  /// The names of the cookies that are there, of those that ``setCookies()`` sets.
  private var cookies: [String] {
    (HTTPCookieStorage.shared.cookies ?? []).filter { $0.value == domain }.map(\.name).sorted()
  }

  private func setCookies() throws {
    for (name, place) in [
      ("host", host), ("domain", "." + domain), ("foreign", "foreign-" + domain), ("below", "a." + host),
    ] {
      HTTPCookieStorage.shared.setCookie(
        try #require(HTTPCookie(properties: [.name: name, .value: domain, .domain: place, .path: "/"])))
    }
    #expect(cookies == ["below", "domain", "foreign", "host"])
  }

  private func removeCookies() {
    for cookie in HTTPCookieStorage.shared.cookies ?? [] where cookie.value == domain {
      HTTPCookieStorage.shared.deleteCookie(cookie)
    }
  }

  @Test func `clears the account's preferences and the host's cookies, and nothing else`() async throws {
    try setCookies()
    defer { removeCookies() }
    let keys = ["ada", "adam"].map { account($0).preferencesPrefix + "theme" } + ["theme.\(domain)"]
    for key in keys { UserDefaults.standard.set("dark", forKey: key) }
    defer { for key in keys { UserDefaults.standard.removeObject(forKey: key) } }
    let report = try await session("ada").signOut()
    #expect(report.cleanup.cleared.sorted() == ["account_preferences", "host_cookies"])
    #expect(report.failed.isEmpty && report.cleanup.kept.isEmpty && report.scopesWithoutStep.isEmpty)
    #expect(cookies == ["below", "domain", "foreign"])
    #expect(keys.map { UserDefaults.standard.string(forKey: $0) } == [nil, "dark", "dark"])
  }

  @Test func `keeps what another account of the server uses, and says so`() async throws {
    try setCookies()
    defer { removeCookies() }
    let (ada, bob) = (try await session("ada"), try await session("bob"))
    let first = await ada.signOut()
    #expect(first.cleanup.kept == ["host_cookies"] && first.cleanup.cleared == ["account_preferences"])
    #expect(cookies.contains("host"))
    let last = await bob.signOut()
    #expect(last.cleanup.kept.isEmpty && last.cleanup.cleared.contains("host_cookies"))
    #expect(!cookies.contains("host"))
  }

  @Test func `keeps what the account uses that has taken its place`() async throws {
    try setCookies()
    defer { removeCookies() }
    let session = try await session("ada")
    try await session.signIn { tokens(of: "bob") }
    // The previous account's end, before the new session began.
    #expect(!cookies.contains("host"))
    #expect(session.currentUser?.id == account("bob"))
  }

  @Test func `does not know whether a vault that cannot be read holds another session`() async throws {
    try setCookies()
    defer { removeCookies() }
    let faulty = FaultyVault(MemoryVault())
    await faulty.set { $0 = .locked }
    let locked = SessionManager(
      backend: ScriptedBackend.rotating(), vault: faulty, baseURL: url,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: ManualClock())
    await locked.restoreSession()
    let report = try await session("ada").signOut()
    #expect(report.failed == ["host_cookies": "VaultError"] && cookies.contains("host"))
    withExtendedLifetime(locked) {}
  }

  #if os(Linux)
  @Test func `keeps what an account of the list uses that has not been opened`() async throws {
    try setCookies()
    defer { removeCookies() }
    let name = "handstamp-test-\(UUID().uuidString)"
    defer {
      try? FileManager.default.removeItem(
        atPath: (SealedFileVault.standard(name).folder as NSString).deletingLastPathComponent)
    }
    func launch() -> Accounts<Void> {
      Accounts<Void>(
        backend: ScriptedBackend.rotating(), name: name, baseURL: url,
        transport: StubTransport { _ in .init(status: 200) }, policy: quiet
      ) { _ in }
    }
    var accounts = launch()
    for id in ["ada", "bob"] { try await accounts.add { tokens(of: id) } }
    accounts = launch()
    await accounts.load()
    let first = try await accounts.remove(account("ada"))
    #expect(first.cleanup.kept == ["host_cookies"] && first.scopesWithoutStep.isEmpty && cookies.contains("host"))
    let last = try await accounts.remove(account("bob"))
    #expect(last.cleanup.kept.isEmpty && !cookies.contains("host"), "\(last.cleanup)")
  }
  #endif

  @Test func `has an identifier of web data for each account`() {
    let ids = ["ada", "bob"].map { account($0).webDataIdentifier }
    #expect(ids[0] != ids[1] && ids[0] == account("ada").webDataIdentifier)
    #expect(
      ids[0].uuidString.lowercased().filter { $0 != "-" } == account("ada").preferencesPrefix.dropFirst(8).prefix(32))
  }
}
