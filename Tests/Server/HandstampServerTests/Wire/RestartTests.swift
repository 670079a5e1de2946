#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A restarted server` {
  @Test func `knows every session, every end and every event`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "handstamp-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    // As callers do: the signing keys are stored as text.
    let pem = SigningKeys().pem

    func run<Value>(_ body: (WireClient) async throws -> Value) async throws -> Value {
      let (store, keys) = try ServerFolder(path: folder.path).open()
      defer { try? store.close() }
      let server = try await SessionServer(
        configuration: ServerConfiguration(issuer: "https://id.example.org") { $0.passwords.hashing = .forTests },
        registry: Registry(store: store, mint: TokenMint(keys.master)), keys: SigningKeys(pem: pem))
      let running = try await server.start()
      do {
        let value = try await body(WireClient(base: running.url))
        try await running.stop()
        return value
      } catch {
        try await running.stop()
        throw error
      }
    }

    let (phone, laptop, last) = try await run { client in
      let phone = try TestServer.Session(
        try await client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org")))
      let feed = try await WireStream(client, token: phone.access)
      let last = try await feed.next()?.id
      let laptop = try TestServer.Session(
        try await client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org")))
      #expect(try await feed.next()?.json["sid"] == laptop.id)
      #expect(try await client.send("DELETE", "/v1/sessions/\(laptop.id)", token: phone.access).status == 204)
      return (phone, laptop, last)
    }
    try await run { client in
      #expect(try await client.get("/v1/me", token: phone.access).json["email"] == "ada@example.org")
      #expect(try await client.get("/v1/me", token: laptop.access).json["reason"] == "revoked")
      let feed = try await WireStream(client, token: phone.access, after: last)
      let names = [try await feed.next()?.name, try await feed.next()?.name, try await feed.next()?.name]
      #expect(names == ["verification", "session-established", "session-revoked"])
      let key = RotationKey.fresh.wireText.withExposed { $0 }
      let form = "grant_type=refresh_token&refresh_token=\(phone.refresh)&rotation_key=\(key)"
      #expect(try await client.post("/oauth/token", form: form).status == 200)
    }
  }
}
#endif
