import Foundation
import Handstamp

nonisolated struct Me: Decodable { let name: String }

let session = SessionManager(server: URL(string: CommandLine.arguments[1])!)
await session.restoreSession()  // from the keychain; on Linux, from an encrypted file
if case .signedOut = session.state {
  try await session.signIn(email: "ada@example.org", password: "correct horse")
}
let me: Me = try await session.api.get("/v1/me")  // refreshes the token when it has to
print("Hello, \(me.name)")  // Hello, Ada
