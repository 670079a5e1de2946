import Foundation
import Handstamp

nonisolated struct GetMe: Endpoint {
  nonisolated struct Response: Decodable, Sendable { var name: String }
  var path: String { "/v1/me" }
}

@main struct Quickstart {
  static func main() async {
    let url = URL(string: CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080")!
    let server = ServerBackend(
      baseURL: url, device: .init(id: DeviceID("quickstart"), name: "Quickstart"), transport: URLSessionTransport())
    let session = SessionManager(backend: server, vault: .platform("org.example.quickstart"), baseURL: url) { api in
      try await api.send(GetMe())
    }
    do {
      try await session.signIn { try await server.password("ada@example.org", Secret("correct horse")) }
      print(try await session.api.send(GetMe()).name)  // refreshes by itself, for as long as the session lasts
    } catch {
      print("\(error); next step: \(Recovery(error))")
    }
  }
}
