#if Programs
import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `The challenge of a remote server` {
  @Test(arguments: [
    #"Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/m""#,
    #"bearer scope="a b",error=insufficient_scope , resource_metadata = "https://x/m""#,
    #"Basic realm="x, Bearer scope=\"no\"", Bearer resource_metadata="https://x/m", scope="a b", error="insufficient_scope""#,
    #"Negotiate abc==, Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/m", DPoP error="no""#,
  ])
  func `is read in every form`(field: String) {
    let challenge = ReceivedChallenge([HeaderField("WWW-Authenticate", field)])
    #expect(challenge?.error == "insufficient_scope" && challenge?.scopes == ["a", "b"])
    #expect(challenge?.metadata == "https://x/m")
  }

  @Test(arguments: ["", "Basic realm=\"Bearer\"", "DPoP error=\"x\"", "=", "\"Bearer\""])
  func `is not found elsewhere`(field: String) {
    #expect(ReceivedChallenge([HeaderField("WWW-Authenticate", field)]) == nil)
  }

  @Test func `may break off`() {
    #expect(ReceivedChallenge([HeaderField("WWW-Authenticate", #"Bearer error="x"#)])?.error == nil)
    #expect(ReceivedChallenge([HeaderField("WWW-Authenticate", "Bearer")])?.scopes == [])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A remote server` {
  @Test(arguments: [
    ("https://API.example.org/mcp", "https://api.example.org/mcp"),
    ("https://api.example.org/", "https://api.example.org"),
    ("http://127.0.0.1:8000/mcp?a=b", "http://127.0.0.1:8000/mcp?a=b"),
  ])
  func `is a resource by its canonical URI`(url: String, resource: String) throws {
    #expect(try RemoteServer(parsing: url).resource == resource)
  }

  @Test(arguments: [
    "", "mcp", "ftp://x/", "https://a:b@x/", "https://x/#f", "http://x/mcp", "https://x/a b", "https://",
  ])
  func `has an https URL, or one on this machine`(url: String) {
    #expect(throws: CommandError.self) { try RemoteServer(parsing: url) }
  }

  @Test(arguments: [
    ("https://x.org/a/mcp", true), ("https://x.org/a", true), ("https://x.org", true), ("https://X.org:443/", true),
    ("https://x.org/a/mcp2", false), ("https://x.org/a/m", false), ("https://y.org/a/mcp", false),
    ("http://x.org/a/mcp", false), ("https://x.org:444/a/mcp", false), ("https://x.org/a/mcp?b", false),
  ])
  func `is part of its own resource and of those above it`(resource: String, isPart: Bool) throws {
    #expect(try RemoteServer(parsing: "https://x.org/a/mcp").isPart(of: resource) == isPart)
  }

  @Test func `does not send anyone to this machine`() throws {
    let remote = try RemoteServer(parsing: "https://x.org/mcp")
    #expect(
      remote.mayName("https://id.org") && !remote.mayName("http://127.0.0.1:1/") && !remote.mayName("http://id.org"))
    #expect(try RemoteServer(parsing: "http://127.0.0.1:1/mcp").mayName("http://localhost:2"))
  }

  private static let metadata = #"{"resource":"https://x.org/mcp","authorization_servers":["https://id.org"]}"#

  @Test(arguments: ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource", "/named"])
  func `says where to sign in`(place: String) async throws {
    let transport = ScriptedTransport(["GET \(place)": Self.metadata])
    let challenge = ReceivedChallenge([
      HeaderField("WWW-Authenticate", #"Bearer resource_metadata="https://x.org/named""#)
    ])
    let found = try await RemoteResource.find(
      try RemoteServer(parsing: "https://x.org/mcp"), challenge, over: transport)
    #expect(found.authorization_servers == ["https://id.org"] && found.resource == "https://x.org/mcp")
  }

  @Test(arguments: [
    (#"{"resource":"https://y.org/mcp","authorization_servers":["https://id.org"]}"#, "another resource"),
    (#"{"resource":"https://x.org/mcp","authorization_servers":["http://id.org"]}"#, "no authorization server"),
    (#"{"resource":"https://x.org/mcp","authorization_servers":[]}"#, "no authorization server"),
    ("<html>", "no such metadata"),
  ])
  func `is not believed about others`(body: String, words: String) async throws {
    let transport = ScriptedTransport(["GET /.well-known/oauth-protected-resource/mcp": body])
    do throws(CommandError) {
      _ = try await RemoteResource.find(try RemoteServer(parsing: "https://x.org/mcp"), nil, over: transport)
      Issue.record("it was")
    } catch {
      #expect(error.message.contains(words) && error.code == "no_resource_metadata")
    }
  }

  @Test func `that asks for no sign-in is told apart from one that does not say where`() async throws {
    let asking = ReceivedChallenge([HeaderField("WWW-Authenticate", "Bearer")])
    for (challenge, words) in [(nil, "no MCP server that asks for a sign-in"), (asking, "does not say where")] {
      await #expect {
        try await RemoteResource.find(
          try RemoteServer(parsing: "https://x.org/mcp"), challenge, over: ScriptedTransport([:]))
      } throws: { ($0 as? CommandError)?.message.contains(words) == true }
    }
  }
}
#endif
