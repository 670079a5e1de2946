import Foundation
import Handstamp

/// `PlainClient URL`: a new account at a server, and its session, using only the package's default libraries.
@main struct PlainClient {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else { return }
    let session = SessionManager(server: url)
    _ = try await session.signUp(email: "ada@example.org", password: "correct horse", username: "Ada")
    print("signed in: \(session.isAuthenticated)")
    await session.signOut()
    // Otherwise the next program with this session would tell the server.
    _ = await session.controller.waitForRevocations(timeout: .seconds(10))
    print("signed in: \(session.isAuthenticated)")
  }
}
