#if AsyncHTTPClient && WebSocket
import Foundation
import Handstamp
import HandstampAsyncHTTP
import HandstampWebSocket

/// `Transports URL`: a session of the same account over AsyncHTTPClient, with an additional WebSocket.
@main struct Transports {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else { return }
    let server = ServerBackend(
      baseURL: url, device: .init(id: DeviceID("transports"), name: "Transports"), transport: AsyncHTTPTransport.shared)
    let session = SessionManager(
      backend: server, vault: MemoryVault(), baseURL: url, transport: AsyncHTTPTransport.shared
    ) { _ in }
    try await session.signIn(email: "ada@example.org", password: "correct horse")
    print("signed in: \(session.isAuthenticated)")
    do {
      let address = url.absoluteString.replacing("http://", with: "ws://") + "/v1/me"
      _ = try await WebSocketConnector().open(TransportRequest(method: "GET", url: address))
    } catch {
      print("no WebSocket here: \(error)")
    }
    await session.signOut()
    _ = await session.controller.waitForRevocations(timeout: .seconds(10))
  }
}
#else
@main struct Transports { static func main() {} }
#endif
