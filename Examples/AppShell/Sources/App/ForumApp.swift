import Foundation
import Handstamp
import HandstampUI
import SwiftUI
import WidgetKit

@main struct ForumApp: App {
  @State private var model = AppModel()

  var body: some Scene {
    WindowGroup {
      RootView(model: model)
        .environment(model.session)
        .onChange(of: model.session.currentUser?.id) { _, _ in WidgetCenter.shared.reloadAllTimelines() }
    }
    .backgroundTask(.appRefresh(AppModel.refreshTask)) {
      await model.life.refreshInBackground()
    }
  }
}
