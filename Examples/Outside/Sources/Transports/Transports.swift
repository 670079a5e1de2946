#if AsyncHTTPClient && Data && LoopbackRedirect && WebSocket
import Foundation
import Handstamp
import HandstampData
import HandstampOAuth
import HandstampTransports

/// `Transports URL FOLDER`: a session over AsyncHTTPClient, with a database for its account, a WebSocket, and a second sign-in in
/// the browser.
@main struct Transports {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let url = arguments.first.flatMap(URL.init(string:)), let folder = arguments.last else {
      return
    }
    let server = ServerBackend(
      baseURL: url, device: .init(id: DeviceID("transports"), name: "Transports"), transport: AsyncHTTPTransport.shared)
    let session = SessionManager(
      backend: server, vault: MemoryVault(), baseURL: url, transport: AsyncHTTPTransport.shared
    ) { _ in }
    try await session.signIn(email: "ada@example.org", password: "correct horse")
    say("signed in: \(session.isAuthenticated)")
    let store = try DataStore(
      StorePlace(folder: URL(fileURLWithPath: folder)), schema: StoreSchema(tables: []) { _ in })
    say("database: \(store.place.folder.lastPathComponent)")
    do {
      let address = url.absoluteString.replacing("http://", with: "ws://") + "/v1/me"
      _ = try await WebSocketConnector().open(TransportRequest(method: "GET", url: address))
    } catch {
      say("no WebSocket here: \(error)")
    }
    await session.signOut()
    _ = await session.controller.waitForRevocations(timeout: .seconds(10))
    try await signInInTheBrowser(at: url)
  }

  /// A browser's redirect comes back over a port of this machine.
  private static func signInInTheBrowser(at url: URL) async throws {
    let client = OAuthClient(issuer: url.absoluteString, id: "command-line-app", scopes: ["profile"])
    let backend = OAuthBackend(client, transport: AsyncHTTPTransport.shared)
    let receiver = try await LoopbackReceiver.listen { page in say("open \(page)") }
    do {
      _ = try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
    } catch {
      say("\(error)")
    }
    await receiver.close()
  }

  /// Writes without buffering, even if the output is not a terminal.
  private nonisolated static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
#else
@main struct Transports { static func main() {} }
#endif
