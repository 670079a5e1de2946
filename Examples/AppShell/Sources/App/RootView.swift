import Handstamp
import HandstampUI
import SwiftUI

struct RootView: View {
  let model: AppModel

  var body: some View {
    AuthGuardView(model.session) { content in
      TabView {
        HomeView(content: content)
          .tabItem { Label("Home", systemImage: "house") }
        NavigationStack { DevicesView(ServerDevices(model.server, controller: model.session.controller)) }
          .tabItem { Label("Devices", systemImage: "laptopcomputer.and.iphone") }
        NavigationStack { LastSignInsView(log: model.audit) }
          .tabItem { Label("Sign-Ins", systemImage: "person.badge.key") }
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
    // Cheap enough to call often: it resets the idle limit.
    .onAppear { session.updateSessionActivity() }
  }
}

struct RootView_Previews: PreviewProvider {
  private static let content = Content(me: Me(name: "Ada"))

  static var previews: some View {
    HomeView(content: content).environment(Session.preview(signedInAs: "ada", content: content))
  }
}
