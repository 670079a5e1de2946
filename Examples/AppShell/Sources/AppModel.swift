import Foundation
import Handstamp
import HandstampUI
import HandstampVaults
import Observation

/// The app's session: generic once, named once.
typealias Session = SessionManager<Content>

/// What the app loads after sign-in.
nonisolated struct Content: Sendable {
  var me: GetMe.Response
}

nonisolated struct GetMe: Endpoint {
  nonisolated struct Response: Decodable, Sendable { var name: String }
  var path: String { "/v1/me" }
}

/// All that lives as long as the app.
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
    let locks = FlightLockKeeper()
    server = ServerBackend(baseURL: url, device: AppModel.device(), transport: URLSessionTransport())
    // Refreshed while the device is locked, hence `inBackground`.
    let vault = locks.guarding(.keychain(AppModel.name, inBackground: true))
    presence = PresenceLock(
      DevicePresence(), policy: .window(.seconds(300)), reason: "to show your messages")
    session = Session(backend: server, vault: vault, baseURL: url, presence: presence) { api in
      Content(me: try await api.send(GetMe()))
    }
    let controller = session.controller
    life = SessionLifeCycle(presence: presence, locks: locks, leave: ApplicationLeave()) { [controller] }
    system = AppLifeCycle(life)
    schedule()
  }

  func refreshInBackground() async {
    schedule()
    _ = await life.refreshInBackground()
  }

  private func schedule() {
    // Not worth failing for: the session refreshes when the app comes to the front.
    try? BackgroundRefresh.schedule(AppModel.refreshTask, notBefore: Date(timeIntervalSinceNow: 3600))
  }

  /// The installation's own id: no secret, and kept when somebody signs out.
  private static func device() -> ServerBackend.Device {
    let known = UserDefaults.standard.string(forKey: "device")
    let id = known ?? UUID().uuidString
    if known == nil { UserDefaults.standard.set(id, forKey: "device") }
    return ServerBackend.Device(id: DeviceID(id), name: "iPhone")
  }
}
