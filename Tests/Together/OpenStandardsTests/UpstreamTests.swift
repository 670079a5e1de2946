#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampTransports
import Testing

@testable import HandstampServer

/// The server's side of a sign-in at oidc-provider-mock, which is built with Authlib.
@Suite(.timeLimit(.minutes(10))) struct `A sign-in of our server at an independent provider` {
  /// PyPI is asked once, and the program kept in the user's cache.
  private static func isInstalled() async -> Bool {
    (try? await IndependentServer.run(script: "upstream.py") { _ in true }) ?? false
  }

  private func header(_ response: TransportResponse, _ name: String) throws -> String {
    try #require(response.header(name))
  }

  @Test(.enabled("needs oidc-provider-mock from PyPI") { await isInstalled() })
  func `tells who the user is, once for each code`() async throws {
    try await IndependentServer.run(script: "upstream.py") { server async throws in
      let transport = AsyncHTTPTransport.shared
      _ = try await transport.send(
        TransportRequest(
          method: "PUT", url: server.url + "/users/ada", headers: [HeaderField("Content-Type", "application/json")],
          body: Array(#"{"email":"ada@example.org","email_verified":true,"name":"Ada Lovelace"}"#.utf8)))
      var random = SystemRandomNumberGenerator()
      let mint = TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random))
      let signIn = UpstreamSignIn(
        UpstreamProvider(
          id: "mock", name: "Mock", issuer: server.url, clientID: "forum", clientSecret: Secret("any")),
        base: "https://forum.example.org", mint: mint, transport: transport, now: { .current })
      let start = try await signIn.begin(for: "/notes", boundTo: "", at: .current)
      let back = try await transport.send(
        TransportRequest(
          method: "POST", url: start.url, headers: [HeaderField("Content-Type", "application/x-www-form-urlencoded")],
          body: Array("sub=ada".utf8)))
      let address = try header(back, "Location")
      #expect(address.hasPrefix("https://forum.example.org/sign-in/with/mock/callback?"))
      let query = try #require(URLComponents(string: address)?.percentEncodedQuery)

      let outcome = try await signIn.finish(query, attempt: start.attempt, boundTo: "", at: .init(exactly: .current))
      #expect(outcome.user.identity == ExternalIdentity(issuer: server.url, subject: "ada"))
      #expect(outcome.user.name == "Ada Lovelace" && outcome.user.email?.typed == "ada@example.org")
      #expect(outcome.user.isEmailVerified && outcome.user.authenticatedAt != nil && outcome.context == "/notes")

      await #expect(throws: UpstreamError.refused("invalid_grant")) {
        try await signIn.finish(query, attempt: start.attempt, boundTo: "", at: .init(exactly: .current))
      }
      let denied = try await transport.send(
        TransportRequest(
          method: "POST", url: start.url, headers: [HeaderField("Content-Type", "application/x-www-form-urlencoded")],
          body: Array("action=deny".utf8)))
      let refusal = try #require(URLComponents(string: try header(denied, "Location"))?.percentEncodedQuery)
      await #expect(throws: UpstreamError.refused("access_denied")) {
        try await signIn.finish(refusal, attempt: start.attempt, boundTo: "", at: .init(exactly: .current))
      }
    }
  }
}
#endif
