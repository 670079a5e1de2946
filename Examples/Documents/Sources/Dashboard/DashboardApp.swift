// An app at a JSON API of its own, with tokens held by an actor and shown by an `@Observable` class.
//
// `SessionController` is the actor. It alone refreshes: requests that meet an expired token wait for one refresh.
// `SessionManager` is the observable class. Its snapshot has the user and the app's configuration, loaded together.
// The two are loaded after each sign-in and each launch, and `refreshContent()` loads them again.
// The header of a request is there at any time, without waiting.
//
// On Linux it runs at the forum that `scripts/dev forum` starts:
// swift run --package-path Examples/Documents Dashboard http://127.0.0.1:PORT/
import Foundation
import Handstamp

#if canImport(SwiftUI)
import HandstampUI
import SwiftUI
#endif

nonisolated struct Me: Decodable {
  let name: String
}

nonisolated struct AppConfig: Decodable {
  let theme: String
}

/// The content of the app, loaded after sign-in.
nonisolated struct Home: Sendable {
  let me: Me
  let appConfig: AppConfig
}

typealias Session = SessionManager<Home>

func makeSession(_ url: URL) -> Session {
  let backend = JSONBackend(
    url, signInPath: "/api/login", refreshPath: "/api/refresh", signOutPath: "/api/logout",
    access: "access_token", refresh: "refresh_token", userID: "user_id", userName: "user_name",
    ends: [(401, "invalid_refresh_token", .rejected)], reuse: .never)
  return Session(backend: backend, vault: .standard("org.example.dashboard"), baseURL: url, load: loadHome)
}

nonisolated func loadHome(_ api: APIClient) async throws -> Home {
  async let me: Me = api.get("/api/me")
  async let appConfig: AppConfig = api.get("/api/config")
  return Home(me: try await me, appConfig: try await appConfig)
}

#if canImport(SwiftUI)
@main struct DashboardApp: App {
  @State private var session = makeSession(URL(string: "https://api.example.org") ?? URL(fileURLWithPath: "/"))

  var body: some Scene {
    WindowGroup { RootView().environment(session) }
  }
}

struct RootView: View {
  @Environment(Session.self) private var session

  var body: some View {
    AuthGuardView(session) { home in
      VStack(spacing: 16) {
        Text(verbatim: "Hello, \(home.me.name)").font(.largeTitle)
        Text(verbatim: home.appConfig.theme).foregroundStyle(.secondary)
        Button("Reload") { session.refreshContent() }
        Button("Sign Out") { Task { await session.signOut() } }
      }
    } signedOut: {
      AuthView(session)
    }
  }
}
#else
@main struct Dashboard {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else { return }
    let session = makeSession(url)
    await session.restoreSession()
    if case .signedOut = session.state { try await session.signIn(email: "ada", password: "lovelace") }
    let first = session.controller.authorizationHeader
    let home = try await loadHome(session.api)
    print("Hello, \(home.me.name): \(home.appConfig.theme)")  // Hello, ada: dark
    // The API refuses the first token by now: the three requests wait for one refresh.
    let api = session.api
    async let one: Me = api.get("/api/me")
    async let two: Me = api.get("/api/me")
    async let three: Me = api.get("/api/me")
    let names = [try await one.name, try await two.name, try await three.name]
    let isReplaced = session.controller.authorizationHeader != first
    print("\(names.count) requests, the token is replaced: \(isReplaced)")  // 3 requests, the token is replaced: true
    await session.signOut()
    print("signed out: \(session.controller.authorizationHeader == nil)")  // signed out: true
    // Otherwise the next launch would tell the server.
    _ = await session.controller.waitForRevocations(timeout: .seconds(10))
  }
}
#endif
