import Foundation
import Handstamp
import HandstampUI
import SwiftUI

@main struct AccountsApp: App {
  static let name = "org.example.forum"
  @State private var model: AccountsModel
  @State private var life: AppLifeCycle

  init() {
    let url = URL(string: "https://api.example.org") ?? URL(fileURLWithPath: "/")
    let accounts = Accounts(server: url, name: Self.name) { api in try await api.get("/v1/me", as: Content.self) }
    _model = State(initialValue: AccountsModel(accounts))
    _life = State(initialValue: AppLifeCycle(accounts))
  }

  var body: some Scene {
    WindowGroup { RootView(model: model) }
  }
}
