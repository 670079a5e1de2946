#if Programs
import Foundation
import HTTPTypes
import HandstampServer
import HandstampSupport
import Hummingbird
import NIOCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// `handstamp mcp login` for a server whose tokens Handstamp's own server issues, by the client `agent`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `A sign-in for a remote server` {
  private struct Stage {
    let server: OwnServer
    let home: String
    /// The URL of the remote server, which asks for the scope `read`.
    let url: String

    /// - Parameters:
    ///   - scopes: Those that the client may have, beside those of OpenID Connect.
    ///   - isAudience: Whether it may have tokens for the remote server.
    static func run(
      scopes: [String] = ["read"], isAudience: Bool = true, _ body: @escaping @Sendable (Stage) async throws -> Void
    ) async throws {
      let home = NSTemporaryDirectory() + "handstamp-mcp-\(UInt64.random(in: 0 ... .max))"
      try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: home) }
      let issuer = Locked("")
      try await serving(remote(of: { issuer.withLock { $0 } })) { origin in
        let url = origin + "/mcp"
        let client = try ConfiguredClient(
          id: "agent", redirectURIs: ["http://127.0.0.1/callback"], flows: [.code, .device],
          scopes: ["openid", "profile", "offline_access"] + scopes, audiences: isAudience ? [url] : [])
        try await OwnServer.run(adding: [client]) { server async throws in
          try await server.signUp()
          issuer.withLock { $0 = server.url }
          try await body(Stage(server: server, home: home, url: url))
        }
      }
    }

    /// The metadata of the remote server, and its challenge.
    private static func remote(of issuer: @escaping @Sendable () -> String) -> Router<BasicRequestContext> {
      let place = "/.well-known/oauth-protected-resource/mcp"
      let router = Router()
      router.get("\(place)") { request, _ in
        let resource = "http://\(request.head.authority ?? "")/mcp"
        let text =
          #"{"resource":"\#(resource)","authorization_servers":["\#(issuer())"],"scopes_supported":["read"]}"#
        return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
      }
      router.get("/mcp") { request, _ in
        let metadata = "http://\(request.head.authority ?? "")\(place)"
        return Response(
          status: .unauthorized, headers: [.wwwAuthenticate: "Bearer resource_metadata=\"\(metadata)\""])
      }
      return router
    }

    private func child(_ words: String, input: String = "", log: String? = nil) throws -> Child {
      try Child(
        words.split(separator: " ").map(String.init), variables: ["HANDSTAMP_HOME": home], input: input, log: log)
    }

    /// Runs a command that asks the user for nothing.
    func run(_ words: String, input: String = "") async throws -> Child.Outcome {
      try await child(words, input: input).outcome()
    }

    /// Runs a command that shows a device's code, which Ada allows. Returns its words.
    func allow(_ words: String) async throws -> String {
      let log = home + "/words-\(UInt64.random(in: 0 ... .max))"
      let running = try child(words, log: log)
      try await WebPerson().allow(RunningCommand(log: log).code(), at: server.url + "/device")
      let status = try await running.outcome().status
      let all = try String(contentsOfFile: log, encoding: .utf8)
      #expect(status == 0, "\(all)")
      return all
    }

    /// Signs in by the client, without the remote server.
    func signIn() async throws {
      _ = try await allow("login --issuer \(server.url) --client-id agent --device \(Stage.scopes)")
    }

    private static let scopes = "--scope openid --scope profile --scope offline_access --scope read"
  }

  @Test(arguments: ["", " --force"])
  func `is not begun for a client that gets no token for it`(option: String) async throws {
    try await Stage.run(isAudience: false) { stage in
      try await stage.signIn()
      let token = try await stage.run("token").out
      let refused = try await stage.run("mcp login \(stage.url) --device --timeout 5s" + option)
      #expect(refused.status == 7 && !refused.words.contains("enter the code"), "\(refused.words)")
      #expect(refused.words.contains(#"add \#(stage.url) to the "audiences" of the client agent"#), "\(refused.words)")
      #expect(try await stage.run("token").out == token)
    }
  }

  @Test func `replaces the session of a password only if it is told to`() async throws {
    try await Stage.run { stage in
      let login = try await stage.run(
        "login ada@example.org --server \(stage.server.url)", input: OwnServer.password + "\n")
      #expect(login.status == 0, "\(login.words)")
      let command = "mcp login \(stage.url) --client-id agent --device"
      let refused = try await stage.run(command + " --timeout 5s")
      #expect(refused.status == 1 && !refused.words.contains("enter the code"), "\(refused.words)")
      #expect(refused.words.contains("is signed in by another protocol, not by agent"), "\(refused.words)")
      #expect(refused.words.contains("run: handstamp \(command) --timeout 5s --force;"), "\(refused.words)")
      let words = try await stage.allow(command + " --force")
      #expect(words.contains("\(stage.url) is used with"), "\(words)")
    }
  }

  @Test func `names a scope that was not granted, also the next time`() async throws {
    try await Stage.run(scopes: []) { stage in
      let command = "mcp login \(stage.url) --client-id agent --device"
      #expect(try await stage.allow(command).contains("which was not granted the scope read"))
      let again = try await stage.run(command + " --timeout 5s")
      #expect(again.status == 0 && !again.words.contains("enter the code"), "\(again.words)")
      #expect(again.words.contains("which was not granted the scope read"), "\(again.words)")
      #expect(again.words.contains("run: handstamp \(command) --timeout 5s --force"), "\(again.words)")
    }
  }

  @Test func `is not begun for a path that the issuer does not know`() async throws {
    try await Stage.run { stage in
      let refused = try await stage.run("mcp login \(stage.server.url)/mcp --client-id agent --device --timeout 5s")
      #expect(refused.status == 1 && !refused.words.contains("enter the code"), "\(refused.words)")
      #expect(refused.words.contains("no MCP server at \(stage.server.url)/mcp"), "\(refused.words)")
    }
  }

  @Test func `takes an account that is signed in, and names the server once`() async throws {
    try await Stage.run { stage in
      try await stage.signIn()
      for _ in 0..<2 {
        let login = try await stage.run("mcp login \(stage.url) --device --timeout 5s")
        #expect(login.status == 0, "\(login.words)")
        let lines = login.words.split(separator: "\n").filter { $0.contains("is used with") }
        #expect(lines.count == 1 && lines.first?.hasPrefix("\(stage.url) is used") == true, "\(login.words)")
        #expect(!login.words.contains("not granted"), "\(login.words)")
      }
    }
  }
}
#endif
