import Handstamp
import HandstampUI
import SwiftUI

struct RootView: View {
  let model: AccountsModel

  var body: some View {
    switch model.screen {
    case .opening: ProgressView()
    case .signIn: SignInView(model: model)
    case .list:
      VStack {
        AccountSwitcher(model.accounts) { model.showSignIn() }
        if model.canReturn { Button("Done") { model.showContent() } }
      }
    case .content:
      if let session = model.accounts.active {
        AuthGuardView(session) { content in
          VStack {
            Text(verbatim: "Hello, \(content.name)").font(.largeTitle)
            Button("Accounts") { model.showList() }
          }
        } signedOut: {
          // The session has ended: the same user signs in again, or another one is added.
          SignInView(model: model)
        }
      }
    }
  }
}

struct SignInView: View {
  let model: AccountsModel

  var body: some View {
    VStack {
      AuthView(model.accounts, apple: AppleSheet(), onSignIn: { model.showContent() })
      if model.canReturn { Button("Accounts") { model.showList() } }
    }
  }
}
