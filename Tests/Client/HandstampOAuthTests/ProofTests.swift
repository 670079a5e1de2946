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

  @Test func `uses the device's clock, and the last nonce of the origin`() throws {
    let prover = DPoPProver(DPoPKey(key), now: { UnixTime(seconds: 0) })
    prover.learn(
      from: [HeaderField("date", "Fri, 15 Jan 2027 08:00:00 GMT"), HeaderField("dpop-nonce", "n1")],
      of: "https://api.example.org/other")
    let there = try claims(try prover.proof(method: "GET", url: "https://API.example.org:443/me"))
    // It has refused nothing.
    #expect(there["iat"] as? Int == 0)
    #expect(there["nonce"] as? String == "n1")
    let elsewhere = try claims(try prover.proof(method: "GET", url: "https://api.example.org:444/me"))
    #expect(elsewhere["nonce"] == nil)
  }

  /// The second from which a request's proof is, by a server that is an hour behind the device.
  private func time(of request: TransportRequest) -> Int? {
    request.headers.first(named: "DPoP").flatMap { try? claims($0)["iat"] as? Int }
  }

  private let date = HeaderField("Date", "Fri, 15 Jan 2027 08:00:00 GMT")

  private func prover() -> DPoPProver { DPoPProver(DPoPKey(key), now: { UnixTime(seconds: 1_800_003_600) }) }

  @Test func `is sent again, once, with the server's time if the server has refused the device's`() async throws {
    let server = StubServer()
    let refused = [HeaderField("WWW-Authenticate", "DPoP error=\"invalid_dpop_proof\""), date]
    @Sendable func answer(_ request: TransportRequest) -> TransportResponse {
      let isRight = time(of: request) == 1_800_000_000 && request.url.hasSuffix("/me")
      return isRight ? TransportResponse(status: 200) : TransportResponse(status: 401, headers: refused)
    }
    server.on("/me") { request, _ in answer(request) }
    server.on("/never") { request, _ in answer(request) }
    let transport = DPoPTransport(server, prover())
    func status(_ url: String) async throws -> Int {
      try await transport.send(
        TransportRequest(method: "GET", url: url, headers: [HeaderField("Authorization", "Bearer t1")])
      ).status
    }
    #expect(try await status("https://api.example.org/me") == 200)
    #expect(server.requests(to: "/me").compactMap(time) == [1_800_003_600, 1_800_000_000])
    // From now on at once, at this origin.
    #expect(try await status("https://api.example.org/me") == 200)
    #expect(server.requests(to: "/me").count == 3)
    #expect(try await status("https://other.example.org/me") == 200)
    #expect(server.requests(to: "/me").count == 5)
    // Refused for another reason, and not asked for ever.
    #expect(try await status("https://api.example.org/never") == 401)
    #expect(server.requests(to: "/never").count == 1)
    // A date that anyone on the way, or a cache, may have written.
    #expect(try await status("http://api.example.org/me") == 401)
    #expect(try await status("http://127.0.0.1:8080/me") == 200)
    server.on("/old") { _, _ in TransportResponse(status: 401, headers: refused + [HeaderField("Age", "0")]) }
    #expect(try await status("https://third.example.org/old") == 401)
    #expect(server.requests(to: "/old").count == 1)
  }

  /// A nonce first; the date only of a server that refuses the time as well. An assertion counts once.
  @Test func `of a wrong clock signs in and refreshes, or the error names the clock`() async throws {
    let server = StubServer()
    server.on(
      "/token", status: 400, headers: [HeaderField("DPoP-Nonce", "n3"), date], json: #"{"error":"use_dpop_nonce"}"#)
    server.on("/token", status: 400, headers: [date], json: #"{"error":"invalid_dpop_proof"}"#)
    server.on("/token", json: #"{"access_token":"a","token_type":"DPoP","refresh_token":"r"}"#)
    var client = OAuthClient(issuer: StubServer.issuer, id: "app")
    client.key = ClientKey(P256.Signing.PrivateKey())
    let prover = prover()
    let backend = OAuthBackend(client, transport: server, proving: prover)
    _ = try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    let sent = server.requests(to: "/token")
    #expect(sent.compactMap(time) == [1_800_003_600, 1_800_003_600, 1_800_000_000])
    #expect(Set(server.forms(to: "/token").compactMap { $0["client_assertion"] }).count == 3)
    server.on("/token", status: 400, headers: [date], json: #"{"error":"invalid_dpop_proof"}"#)
    let time = OAuthTime(now: { UnixTime(seconds: 1_800_003_600) }, sleep: { _ in })
    let other = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server, proving: prover, time: time)
    let error = await failure { () throws(SessionError) in
      try await other.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    }
    #expect(error == .requestFailed(.clock(.seconds(3600)), retryAfter: nil))
    #expect("\(RequestError.clock(.seconds(3600)))" == "the clock of this device is 3600 s ahead of the server's")
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
