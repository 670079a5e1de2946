import Foundation
import Handstamp

nonisolated struct Me: Decodable { let name: String }

let url = URL(string: CommandLine.arguments.dropFirst().first ?? "http://localhost:8080")!
let session = SessionManager(server: url)
do {
  try await session.signIn(email: "ada@example.org", password: "wrong horse")
  let me: Me = try await session.api.get("/v1/me")
  print("Hello, \(me.name)")
} catch let error as any HandstampError {  // a SessionError from signIn, an APIError from api.get
  let step = error.recovery.map { "\($0)" } ?? "none"
  print("\(error)\ncode: \(error.code), next step: \(step)")
}
