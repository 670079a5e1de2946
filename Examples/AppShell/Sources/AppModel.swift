import Foundation
import Handstamp
import HandstampUI
import Observation

/// The app's session type, with its content type fixed.
typealias Session = SessionManager<ServerBackend, Content>

/// The content that the app loads after sign-in.
nonisolated struct Content: Sendable {
  var me: Me
}

nonisolated struct Me: Decodable {
  let name: String
}

/// Objects that live as long as the app.
@Observable final class AppModel {
  nonisolated static let name = "org.example.forum"
  nonisolated static let refreshTask = "org.example.forum.refresh"

  let server: ServerBackend
  let session: Session
  let presence: PresenceLock
  @ObservationIgnored private let life: SessionLifeCycle
  @ObservationIgnored private let system: AppLifeCycle

  init() {
    let url = URL(string: "https://api.example.org") ?? URL(fileURLWithPath: "/")
    let locks = RefreshLockManager()
    let device = ServerBackend.Device(id: .installation(of: AppModel.name), name: ServerBackend.Device.thisPlatform)
    server = ServerBackend(baseURL: url, device: device, transport: URLSessionTransport())
    // Refreshed while the device is locked, hence `inBackground`.
    let vault = locks.guarding(.keychain(AppModel.name, inBackground: true))
    presence = PresenceLock(
      DevicePresence(), policy: .window(.seconds(300)), reason: "to show your messages")
    session = Session(backend: server, vault: vault, baseURL: url, presence: presence) { api in
      Content(me: try await api.get("/v1/me"))
    }
    let controller = session.controller
    life = SessionLifeCycle(presence: presence, locks: locks, backgroundTime: ApplicationBackgroundTime()) {
      [controller]
    }
    system = AppLifeCycle(life)
    schedule()
  }

  func refreshInBackground() async {
    schedule()
    _ = await life.refreshInBackground()
  }

  private func schedule() {
    // Failures are ignored: the session refreshes when the app becomes active.
    try? BackgroundRefresh.schedule(AppModel.refreshTask, notBefore: Date(timeIntervalSinceNow: 3600))
  }
}
