import Foundation
import Handstamp

/// `PlainClient URL`: a guest session at a server, using only the package's default libraries.
@main struct PlainClient {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else { return }
    let session = SessionManager(server: url)
    try await session.signInAnonymously()
    print("signed in: \(session.isAuthenticated)")
    await session.signOut()
    print("signed in: \(session.isAuthenticated)")
  }
}
