import SwiftUI

/// The program in which device tests run: on every platform, because a keychain needs a signed program.
@main struct HostApp: App {
  var body: some Scene {
    WindowGroup { Text(verbatim: "Tests run in this app.") }
  }
}
