// What the guides' snippets take for granted. `make docs` compiles each guide's with this.
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

struct Content: Sendable { var me: GetMe.Response }

nonisolated struct GetMe: Endpoint {
  nonisolated struct Response: Decodable, Sendable { var name: String }
  var path: String { "/v1/me" }
}

typealias Session = SessionManager<Content>

let api = URL(fileURLWithPath: "/")
let server = ServerBackend(
  baseURL: api, device: .init(id: DeviceID("d"), name: "A device"), transport: URLSessionTransport())

@MainActor func makeSession(_ vault: any Vault, policy: SessionPolicy = .aheadOfExpiry) -> Session {
  Session(backend: server, vault: vault, baseURL: api, policy: policy) { api in
    Content(me: try await api.send(GetMe()))
  }
}
