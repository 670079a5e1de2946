import Foundation
import Handstamp
import HandstampUI
import Observation

/// The app's session type, with its content type fixed.
typealias Session = SessionManager<Content>

/// The content that the app loads after sign-in.
nonisolated struct Content: Sendable {
  var me: Me
}

/// Objects that live as long as the app.
@Observable final class AppModel {
  nonisolated static let refreshTask = "org.example.forum.refresh"

  let server: ServerBackend
  let session: Session
  let presence: PresenceLock
  @ObservationIgnored let life: AppLifeCycle

  init() {
    server = Forum.server()
    let vault = Forum.vault()
    presence = PresenceLock(
      DevicePresence(), policy: .window(.seconds(300)), reason: "to show your messages")
    session = Session(
      backend: server, vault: vault, baseURL: Forum.url, presence: presence,
      cleanups: [
        .removal(of: Forum.downloads, "downloads", .downloads), .removal(of: Forum.messages, "messages", .database),
      ],
      logger: .system(Forum.name)
    ) { api in
      Content(me: try await api.get("/v1/me"))
    }
    life = AppLifeCycle(session, backgroundTask: AppModel.refreshTask)
  }
}
