// An app with several accounts on one device, and several devices for each account.
//
// Each account has a session and a vault of its own; tokens are in the keychain, never in preferences or logs.
// A sign-out erases the tokens, this account's preferences and cookies, and what the steps below say.
// The theme and other settings of the app stay.
// The server lists the account's devices, and each signs out the others.
//
// On Linux it runs at a server that `scripts/dev server` starts, with an account for ada@example.org:
// swift run --package-path Examples/Documents SeveralAccounts http://localhost:8080
import Foundation
import Handstamp
import HandstampUI

#if canImport(SwiftUI)
import SwiftUI
#endif

nonisolated func drafts(of account: AccountID) -> String { "drafts of \(account.rawValue)" }

func makeAccounts(_ url: URL) -> Accounts<Content> {
  Accounts(
    server: url, name: "org.example.accounts",
    cleanups: { account in
      [
        .urlCache(),
        CleanupStep("drafts", .preferences) { _ in UserDefaults.standard.removeObject(forKey: drafts(of: account)) },
      ]
    }
  ) { api in try await api.get("/v1/me", as: Content.self) }
}

#if canImport(SwiftUI)
@main struct SeveralAccountsApp: App {
  @State private var model: AccountsModel
  private let life: AppLifeCycle

  init() {
    let accounts = makeAccounts(URL(string: "https://api.example.org") ?? URL(fileURLWithPath: "/"))
    _model = State(initialValue: AccountsModel(accounts))
    life = AppLifeCycle(accounts)
  }

  var body: some Scene {
    WindowGroup {
      switch model.screen {
      case .opening: ProgressView()
      case .signIn: signIn
      case .list:
        AccountSwitcher(model.accounts) { model.showSignIn() }
        if model.canReturn { Button("Done") { model.showContent() } }
      case .content:
        // If the session has ended, the same user signs in again, or another one is added.
        if let session = model.accounts.active { AuthGuardView(session, signedIn: home) { signIn } }
      }
    }
  }

  @ViewBuilder private func home(_ content: Content) -> some View {
    Text(verbatim: "Hello, \(content.name)").font(.largeTitle)
    if let session = model.accounts.active, let server = session.server {
      DevicesView(ServerDevices(server, controller: session.controller))
    }
    Button("Accounts") { model.showList() }
  }

  @ViewBuilder private var signIn: some View {
    AuthView(model.accounts, onSignIn: { model.showContent() })
    if model.canReturn { Button("Accounts") { model.showList() } }
  }
}
#else
@main struct SeveralAccounts {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else { return }
    let model = AccountsModel(makeAccounts(url))
    let accounts = model.accounts
    await accounts.load()
    try await accounts.signIn(
      email: "ada@example.org", password: "correct horse", code: nil, by: .password, remember: true)
    _ = try await accounts.signUp(email: "bob@example.org", password: "battery staple", username: "Bob", remember: true)
    print("\(model.screen): \(accounts.accounts.map(\.name).joined(separator: ", "))")  // content: Ada, Bob
    for account in accounts.accounts {
      try await accounts.activate(account.id)
      let me = try await accounts.active?.api.get("/v1/me", as: Content.self)
      let report = try await accounts.remove(account.id)
      print("\(me?.name ?? "nobody"), not erased: \(report.failed.count)")  // Bob, not erased: 0
    }
    print("\(model.screen)")  // signIn
  }
}
#endif
