import Foundation
import Handstamp
import HandstampUI
import SwiftUI

@main struct ForumApp: App {
  @State private var model = AppModel()

  var body: some Scene {
    WindowGroup {
      RootView(model: model)
        .environment(model.session)
    }
    .backgroundTask(.appRefresh(AppModel.refreshTask)) {
      await model.refreshInBackground()
    }
  }
}
