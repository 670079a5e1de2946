import Foundation
import Handstamp

/// `PlainClient URL`: a guest's session at a server, with nothing but the package's default libraries.
@main struct PlainClient {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else { return }
    let server = ServerBackend(
      baseURL: url, device: .init(id: DeviceID("plain"), name: "Plain client"), transport: URLSessionTransport())
    let session = SessionManager(backend: server, vault: MemoryVault(), baseURL: url) { _ in }
    try await session.signIn { try await server.signInAnonymously() }
    print("signed in: \(session.isAuthenticated)")
    await session.signOut()
    print("signed in: \(session.isAuthenticated)")
  }
}
