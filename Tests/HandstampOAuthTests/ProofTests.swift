import Crypto
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampOAuth

@Suite(.timeLimit(.minutes(10))) struct `A proof of possession` {
  private let key = P256.Signing.PrivateKey()

  /// The claims of a proof whose signature is valid.
  private func claims(_ proof: String) throws -> [String: Any] {
    let parts = proof.split(separator: ".")
    try #require(parts.count == 3)
    let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
    let signed = Data("\(parts[0]).\(parts[1])".utf8)
    #expect(key.publicKey.isValidSignature(signature, for: signed))
    let payload = try #require(Base64URL.decode(parts[1]))
    return try #require(JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
  }

  @Test func `has the thumbprint of RFC 7638`() throws {
    // The key of RFC 9449, figure 1, and its thumbprint from section 6.1.
    let x = try #require(Base64URL.decode("l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs"))
    let y = try #require(Base64URL.decode("9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"))
    let known = try #require(DPoPKey(publicKey: x + y) { _ in [] })
    #expect(known.thumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
  }

  @Test func `is for one request and one token`() throws {
    let prover = DPoPProver(DPoPKey(key), now: { UnixTime(seconds: 1_800_000_000) })
    let first = try claims(try prover.proof(method: "GET", url: "https://api.example.org/me?a=b#c"))
    #expect(first["htm"] as? String == "GET")
    #expect(first["htu"] as? String == "https://api.example.org/me")
    #expect(first["iat"] as? Int == 1_800_000_000)
    #expect(first["ath"] == nil)
    // RFC 9449, figure 8.
    let token = AccessToken("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
    let second = try claims(try prover.proof(method: "GET", url: "https://api.example.org/me", token: token))
    #expect(second["ath"] as? String == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    #expect(second["jti"] as? String != first["jti"] as? String)
  }

  @Test func `uses the server's clock and its last nonce, each per origin`() throws {
    let prover = DPoPProver(DPoPKey(key), now: { UnixTime(seconds: 0) })
    prover.learn(
      from: [HeaderField("date", "Fri, 15 Jan 2027 08:00:00 GMT"), HeaderField("dpop-nonce", "n1")],
      of: "https://api.example.org/other")
    let there = try claims(try prover.proof(method: "GET", url: "https://API.example.org:443/me"))
    #expect(there["iat"] as? Int == 1_800_000_000)
    #expect(there["nonce"] as? String == "n1")
    let elsewhere = try claims(try prover.proof(method: "GET", url: "https://api.example.org:444/me"))
    #expect(elsewhere["iat"] as? Int == 0)
    #expect(elsewhere["nonce"] == nil)
  }

  @Test func `is sent again, once, with the server's nonce`() async throws {
    let server = StubServer()
    let refusal = TransportResponse(
      status: 401,
      headers: [HeaderField("WWW-Authenticate", "DPoP error=\"use_dpop_nonce\""), HeaderField("DPoP-Nonce", "n2")])
    server.on("/me") { _, _ in refusal }
    server.on("/me") { request, _ in
      let proof = request.headers.first(named: "DPoP") ?? ""
      let payload = proof.split(separator: ".").dropFirst().first.flatMap { Base64URL.decode($0) } ?? []
      let isRight = String(decoding: payload, as: UTF8.self).contains(#""nonce":"n2""#)
      return isRight ? TransportResponse(status: 200) : refusal
    }
    let transport = DPoPTransport(server, DPoPProver(DPoPKey(key)))
    let request = TransportRequest(
      method: "GET", url: "https://api.example.org/me", headers: [HeaderField("Authorization", "Bearer t1")])
    #expect(try await transport.send(request).status == 200)
    #expect(server.requests(to: "/me").allSatisfy { $0.headers.first(named: "Authorization") == "DPoP t1" })
    server.on("/me") { _, _ in refusal }
    server.on("/me") { _, _ in refusal }
    _ = try await transport.send(request)
    #expect(try await transport.send(request).status == 401)
    #expect(server.requests(to: "/me").count == 6)
    // Without a token, there is nothing to prove.
    _ = try await transport.send(TransportRequest(method: "GET", url: "https://api.example.org/me"))
    #expect(server.requests(to: "/me").last?.headers.isEmpty == true)
  }

  @Test func `accompanies files, again with another nonce`() async throws {
    let server = StubServer()
    let refusal = TransportResponse(
      status: 401,
      headers: [HeaderField("WWW-Authenticate", "DPoP error=\"use_dpop_nonce\""), HeaderField("DPoP-Nonce", "n2")])
    server.on("/file") { _, _ in refusal }
    server.on("/file") { _, _ in TransportResponse(status: 200) }
    let transport = DPoPTransport(FileTransport(base: server), DPoPProver(DPoPKey(key)))
    let request = TransportRequest(
      method: "PUT", url: "https://api.example.org/file", headers: [HeaderField("Authorization", "Bearer t1")])
    #expect(try await transport.upload(request, fromFile: "/source").status == 200)
    #expect(try await transport.download(request, toFile: "/target").status == 200)
    let sent = server.requests(to: "/file")
    #expect(sent.count == 3)
    #expect(sent.allSatisfy { $0.headers.first(named: "Authorization") == "DPoP t1" })
    #expect(Set(sent.compactMap { $0.headers.first(named: "DPoP") }).count == 3)
    #expect(sent.map { String(decoding: $0.body, as: UTF8.self) } == ["/source", "/source", "/target"])
  }

  @Test func `must bind the issued tokens, or the sign-in fails`() async throws {
    let server = StubServer()
    server.on(
      "/token", status: 400, headers: [HeaderField("DPoP-Nonce", "n3")], json: #"{"error":"use_dpop_nonce"}"#)
    server.on("/token", json: #"{"access_token":"a","token_type":"DPoP","refresh_token":"r"}"#)
    server.on("/token", json: StubServer.tokens)
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server,
      proving: DPoPProver(DPoPKey(key), now: { UnixTime(seconds: 9) }))
    let grant = try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    #expect(grant.tokens.access == AccessToken("a"))
    let proofs = server.requests(to: "/token").compactMap { $0.headers.first(named: "DPoP") }
    #expect(try proofs.map { try claims($0)["nonce"] as? String } == [nil, "n3"])
    let unbound = await failure { () throws(SessionError) in
      try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    }
    #expect(unbound == .invalidResponse("the server does not bind its tokens to the DPoP key"))
  }
}

/// A transport of files that sends their paths.
private struct FileTransport: Transport {
  let base: StubServer

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    try await base.send(request)
  }
  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
  @concurrent func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await send(with(path, request))
  }
  @concurrent func download(
    _ request: TransportRequest, toFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await send(with(path, request))
  }

  private func with(_ path: String, _ request: TransportRequest) -> TransportRequest {
    var request = request
    request.body = Array(path.utf8)
    return request
  }
}
