// A reader of a site with a login cookie, which an earlier version kept in `HTTPCookieStorage.shared`.
//
// Its users stay signed in: the cookie moves into the vault at the first launch.
// The session is observable, with the member's ID and name; no view looks for a cookie.
// Each member has a Core Data store of its own, which the sign-out below destroys.
// The session ends if the site removes the cookie, and never because a page looks so.
//
// On Linux it runs at the forum that `scripts/dev forum` starts:
// swift run --package-path Examples/Documents Board http://127.0.0.1:PORT/
import Foundation
import Handstamp
import HandstampCookies

#if canImport(SwiftUI)
import CoreData
import HandstampUI
import SwiftUI
#else
import FoundationNetworking
#endif

nonisolated struct Board: Sendable { let member: Profile? }

nonisolated func member(on page: String) -> Profile? {
  guard let id = page.firstMatch(of: #/data-user="([1-9][0-9]*)"/#)?.1,
    let name = page.firstMatch(of: #/id="loggedinusername">([^<]+)</#)?.1
  else { return nil }
  return Profile(id: AccountID(String(id)), name: String(name))
}

nonisolated func site(_ url: URL) -> CookieSite {
  CookieSite(
    baseURL: url, loginCookie: "bbuserid", signInPath: "account.php",
    form: { WebForm([.init("action", "login"), .init("username", $0), .init("password", $1)], charset: .windows1252) },
    recognize: { response in
      let page = String(decoding: response.body, as: UTF8.self)
      if page.contains("password is wrong") { return .refused(code: "wrong_credentials", detail: nil) }
      return member(on: page).map { .success($0) } ?? .unknown
    },
    signOut: { _ in TransportRequest(method: "GET", url: url.absoluteString + "account.php?action=logout") })
}

func makeSession(_ url: URL, cleanups: [CleanupStep] = []) -> SessionManager<Board> {
  let backend = CookieBackend(site(url), transport: URLSessionTransport(), clock: SystemClock())
  return SessionManager(
    backend: backend, vault: .standard("org.example.board"),
    earlier: [.tokens(read: { backend.earlierSession() }, remove: { backend.removeEarlierSession() })], baseURL: url,
    cleanups: cleanups
  ) { api in try await loadBoard(api, url) }
}

nonisolated func loadBoard(_ api: APIClient, _ url: URL) async throws -> Board {
  let page = try await api.response(to: TransportRequest(method: "GET", url: url.absoluteString + "index.php"))
  return Board(member: member(on: String(decoding: page.body, as: UTF8.self)))
}

func complete(_ session: SessionManager<Board>, _ board: Board) async throws {
  if session.currentUser == nil, let member = board.member { try await session.update(profile: member) }
}

#if canImport(SwiftUI)
/// The app's stack, with the store of the member who is signed in.
final class Shelf {
  private let stores = NSPersistentContainer(name: "Forum").persistentStoreCoordinator
  private let folder = URL.applicationSupportDirectory
  private func file(of account: AccountID) -> URL { folder.appending(path: account.preferencesPrefix + "sqlite") }

  func open(_ account: AccountID?) throws {
    for store in stores.persistentStores { try stores.remove(store) }
    if let account { _ = try stores.addPersistentStore(type: .sqlite, at: file(of: account)) }
  }

  func destroy(_ account: AccountID) throws {
    try open(nil)
    guard FileManager.default.fileExists(atPath: file(of: account).path) else { return }
    try stores.destroyPersistentStore(at: file(of: account), type: .sqlite)
  }
}

@main struct BoardApp: App {
  private let shelf: Shelf
  @State private var session: SessionManager<Board>

  init() {
    let (shelf, url) = (Shelf(), URL(string: "https://forum.example.org/") ?? URL(fileURLWithPath: "/"))
    let step = CleanupStep("core_data", .database) { if let account = $0.account { try await shelf.destroy(account) } }
    self.shelf = shelf
    _session = State(initialValue: makeSession(url, cleanups: [step]))
  }

  var body: some Scene {
    WindowGroup {
      AuthGuardView(session) { board in
        Text(verbatim: session.currentUser?.name ?? "")
          .task { try? await complete(session, board) }  // a session that moved in does not know whose it is
          .task(id: session.currentUser?.id) { try? shelf.open(session.currentUser?.id) }
        Button("Sign Out") { Task { await session.signOut(.standard.erasing(.database)) } }
      } signedOut: {
        AuthView(session)
      }
    }
  }
}
#else
@main struct BoardProgram {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else { return }
    let previous = HTTPCookie(properties: [.name: "bbuserid", .value: "former", .domain: url.host ?? "", .path: "/"])
    if let previous { HTTPCookieStorage.shared.setCookie(previous) }  // as the version before this one left it
    let session = makeSession(url)
    await session.restoreSession()
    try await complete(session, try await loadBoard(session.api, url))
    let left = HTTPCookieStorage.shared.cookies?.count ?? 0
    print("\(session.currentUser?.name ?? "nobody") moved in, left: \(left)")  // ada moved in, left: 0
    await session.signOut()
    try await session.signIn(email: "ada", password: "lovelace")
    print("the cookie expires: \(session.cookieExpiry != nil)")  // the cookie expires: true
  }
}
#endif
