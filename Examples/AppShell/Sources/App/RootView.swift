import Handstamp
import HandstampUI
import SwiftUI

struct RootView: View {
  let model: AppModel

  var body: some View {
    // Covers the content while the lock is closed and in the app switcher, and reports the use of the app.
    AuthGuardView(model.session, lock: model.presence) { content in
      TabView {
        HomeView(content: content)
          .tabItem { Label("Home", systemImage: "house") }
        NavigationStack { DevicesView(ServerDevices(model.server, controller: model.session.controller)) }
          .tabItem { Label("Devices", systemImage: "laptopcomputer.and.iphone") }
        NavigationStack { SettingsView() }
          .tabItem { Label("Settings", systemImage: "gear") }
      }
    } signedOut: {
      AuthView(model.session, apple: AppleSheet(), allowsGuests: true)
    }
  }
}

struct HomeView: View {
  @Environment(Session.self) private var session
  let content: Content

  var body: some View {
    VStack {
      Text(verbatim: "Hello, \(content.me.name)").font(.largeTitle)
      if session.isAnonymous { Text(verbatim: "You are using a guest account. Create an account to keep your posts.") }
    }
  }
}

struct RootView_Previews: PreviewProvider {
  private static let content = Content(me: Me(name: "Ada"))

  static var previews: some View {
    HomeView(content: content).environment(Session.preview(signedInAs: "ada", content: content))
  }
}
