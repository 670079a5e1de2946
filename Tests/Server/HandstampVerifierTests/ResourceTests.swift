#if Programs
import HandstampSupport
import Testing

@testable import HandstampVerifier

@Suite(.timeLimit(.minutes(10))) struct `The metadata of an API` {
  private func metadata(_ resource: ProtectedResource, requiresProofs: Bool = false) throws -> ResourceMetadata {
    let verifier = try Issuer().verifier {
      $0.audiences = [resource.identifier]
      $0.resource = resource
      $0.requiresProofs = requiresProofs
    }
    return try #require(verifier.resourceMetadata)
  }

  @Test(arguments: [
    ("https://api.example.org", "https://api.example.org", ""),
    ("https://api.example.org/", "https://api.example.org", ""),
    ("https://api.example.org/mcp", "https://api.example.org", "/mcp"),
    ("https://api.example.org:8443/a/b", "https://api.example.org:8443", "/a/b"),
    ("http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080", "/mcp"),
  ])
  func `is at the well-known place, before the path of the API`(_ resource: String, origin: String, path: String) throws
  {
    let metadata = try metadata(ProtectedResource(resource))
    #expect(metadata.path == "/.well-known/oauth-protected-resource" + path)
    #expect(metadata.url == origin + metadata.path)
    #expect(JSONValue(metadata.json)?["resource"] == .string(resource))
  }

  @Test func `names the issuer, the scopes and the kinds of tokens`() throws {
    let json = JSONValue(try metadata(ProtectedResource(Issuer.api, scopes: ["read"], name: "Things")).json)
    #expect(json?["authorization_servers"] == .array([.string(Issuer.name)]))
    #expect(json?["scopes_supported"] == .array([.string("read")]))
    #expect(json?["resource_name"] == .string("Things"))
    #expect(json?["bearer_methods_supported"] == .array([.string("header")]))
    #expect(json?["dpop_bound_access_tokens_required"] == nil)
    let bound = JSONValue(try metadata(ProtectedResource(Issuer.api), requiresProofs: true).json)
    #expect(bound?["dpop_bound_access_tokens_required"] == .bool(true))
    #expect(bound?["scopes_supported"] == nil)
  }

  @Test(arguments: [
    "http://api.example.org", "https://api.example.org?a=b", "https://api.example.org#a", "api.example.org",
    "https://api.example.org/a\"b", "https://user@api.example.org", "urn:api", "",
  ])
  func `needs a URL that no secret is lost at`(_ resource: String) {
    #expect(throws: resource.isEmpty ? VerifierError.noAudience : .badResource(resource)) {
      try metadata(ProtectedResource(resource))
    }
  }

  @Test func `is of an accepted audience, or every token for it would be refused`() {
    #expect(throws: VerifierError.resourceNoAudience("https://api.example.org/mcp")) {
      try Issuer().verifier { $0.resource = ProtectedResource("https://api.example.org/mcp") }
    }
  }

  @Test func `is nowhere unless the API is named`() throws {
    #expect(try Issuer().verifier().resourceMetadata == nil)
  }
}
#endif
