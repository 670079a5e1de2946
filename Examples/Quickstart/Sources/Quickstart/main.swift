import Foundation
import Handstamp

// `nonisolated` is needed in a target whose default isolation is the main actor.
nonisolated struct Me: Decodable { let name: String }

let url = URL(string: CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080")!
let session = SessionManager(server: url)  // vault: the keychain; on Linux, an encrypted file
if case .success(nil) = await session.restoreSession() {  // signed out; a locked vault is a failure
  try await session.signIn(email: "ada@example.org", password: "correct horse")
}
let me: Me = try await session.api.get("/v1/me")  // refreshes the token whenever it needs to
print("Hello, \(me.name)")
