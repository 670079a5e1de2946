// An app that a user may try as a guest, with one service object in the environment.
//
// The service is restored at launch. The guard waits for it, and shows the app, the sign-in, or a reason.
// A guest who creates an account, by password or with Apple, keeps the account's ID and data.
// A guest whose address has an account is asked before the sign-in to it, and the app takes over what the guest has.
// View models get the service by their initializer.
// A sign-out always succeeds, a guest is asked before, and an account can be deleted in the app.
//
// On Linux it runs at a server that `scripts/dev server` starts:
// swift run --package-path Examples/Documents Guests http://localhost:8080
import Foundation
import Handstamp
import HandstampUI
import Observation

#if canImport(SwiftUI)
import SwiftUI
#endif

nonisolated struct UserProfile: Sendable, Decodable {
  let name: String
  let email: String?
}

typealias AuthService = SessionManager<UserProfile>

func makeAuthService(_ url: URL) -> AuthService {
  let service = AuthService(server: url, name: "org.example.guests") { api in
    try await api.get("/v1/me", as: UserProfile.self)
  }
  service.mergeGuest = { [api = service.api] merge in
    // `api` still calls as the guest, and `merge.token` is the account's.
    let guest: UserProfile = try await api.get("/v1/me")
    print("\(merge.account.name) takes over what \(guest.name) has")
  }
  return service
}

@Observable final class ProfileViewModel {
  private let authService: AuthService

  init(authService: AuthService) { self.authService = authService }

  var isLoggedIn: Bool { authService.isAuthenticated }
  var title: String { authService.isAnonymous ? "Guest" : authService.currentUser?.name ?? "" }
  var canCreateAccount: Bool { authService.isAnonymous }
  func signOut() async { await authService.signOut() }
}

#if canImport(SwiftUI)
@main struct GuestsApp: App {
  @State private var authService: AuthService
  private let life: AppLifeCycle

  init() {
    let service = makeAuthService(URL(string: "https://api.example.org") ?? URL(fileURLWithPath: "/"))
    _authService = State(initialValue: service)
    life = AppLifeCycle(service)
    life.onNetworkReturn = { service.refreshContent() }
  }

  var body: some Scene {
    WindowGroup {
      AuthGuardView(authService) { _ in
        NavigationStack { ProfileView(model: ProfileViewModel(authService: authService)) }
      } signedOut: {
        AuthView(authService, apple: AppleSheet(), allowsGuests: true)
      }
      .environment(authService)
    }
  }
}

struct ProfileView: View {
  @Environment(AuthService.self) private var authService
  let model: ProfileViewModel
  @State private var isDeleting = false
  @State private var isLeaving = false

  var body: some View {
    if isDeleting {
      DeleteAccountView(authService, apple: AppleSheet())
      Button("Cancel") { isDeleting = false }
    } else {
      Text(verbatim: model.title).font(.largeTitle)
      if model.canCreateAccount { AuthView(authService, apple: AppleSheet()) }
      // A guest cannot sign in again.
      Button("Sign Out") { if model.canCreateAccount { isLeaving = true } else { leave() } }
        .confirmationDialog(
          Text(verbatim: "What you have as a guest is lost."), isPresented: $isLeaving, titleVisibility: .visible
        ) {
          Button("Sign Out", role: .destructive) { leave() }
        }
      Button("Delete Account", role: .destructive) { isDeleting = true }
    }
  }

  private func leave() { Task { await model.signOut() } }
}
#else
@main struct Guests {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else { return }
    let service = makeAuthService(url)
    let model = ProfileViewModel(authService: service)
    await service.restoreSession()
    try await service.signInAnonymously()
    let guest = service.currentUser?.id
    print("signed in: \(model.isLoggedIn), as \(model.title)")  // signed in: true, as Guest
    // The form of AuthView, which is a guest's sign-up.
    let form = AuthViewModel(service)
    (form.email, form.password, form.username) = ("grace@example.org", "correct horse", "Grace")
    await form.submit()?.value
    print("\(model.title), the same account: \(service.currentUser?.id == guest)")  // Grace, the same account: true
    try await service.deleteAccount(proof: .password(Secret("correct horse")))
    let isDeleted = service.snapshot.endReason == .accountClosed
    print("signed in: \(model.isLoggedIn), deleted: \(isDeleted)")  // signed in: false, deleted: true
  }
}
#endif
