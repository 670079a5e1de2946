#if Programs
import Foundation
import Handstamp
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampTour

/// One account of one home that signs in by our own protocol and as clients, in turns: a server ends a session only for the client
/// that it belongs to.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `The command whose account changes its client` {
  private struct Rig {
    let server: OwnServer
    let home: String

    static func run(_ body: @Sendable (Rig) async throws -> Void) async throws {
      let home = NSTemporaryDirectory() + "handstamp-clients-\(UInt64.random(in: 0 ... .max))"
      defer { try? FileManager.default.removeItem(atPath: home) }
      try await OwnServer.run { server async throws in
        try await server.signUp()
        try await body(Rig(server: server, home: home))
      }
    }

    func child(_ words: String, input: String = "", log: String? = nil) throws -> Child {
      try Child(
        words.split(separator: " ").map(String.init), variables: ["HANDSTAMP_HOME": home],
        input: input, log: log)
    }

    func signInByPassword() async throws {
      let login = try await child(
        "login ada@example.org --server \(server.url) --force", input: OwnServer.password + "\n"
      ).outcome()
      #expect(login.status == 0, "\(login.words)")
    }

    func signInOnAnotherDevice() async throws {
      try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
      let log = home + "/words-\(UInt64.random(in: 0 ... .max))"
      let login = try child(
        "login --issuer \(server.url) --device --client-id app --scope profile --force", log: log)
      var code = ""
      while code.isEmpty {
        let words = try String(contentsOfFile: log, encoding: .utf8)
        if let line = words.split(separator: "\n").first(where: { $0.contains("enter the code ") }) {
          code = String(line.split(separator: " ").last ?? "")
        }
        try #require(!words.contains("hint:"), "\(words)")
        await Task.yield()
      }
      try await WebPerson().allow(code, at: server.url + "/device")
      let status = try await login.outcome().status
      #expect(status == 0, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
    }

    /// The platforms of the account's sessions at the server, apart from those of the observer and of the browser.
    func sessions() async throws -> [String] {
      let base = try #require(URL(string: server.url))
      let observer = ServerBackend(
        baseURL: base, device: .init(id: DeviceID("d"), name: "observer"), transport: CommandTransport.shared)
      let tokens = try await observer.signIn(email: "ada@example.org", password: Secret(OwnServer.password)).tokens
      let token = try #require(tokens.credential.token)
      return try await observer.devices(token: token).filter { !$0.isCurrent && $0.platform != "web" }.map(\.platform)
    }
  }

  @Test func `leaves one session at the server, whatever the former ones were`() async throws {
    try await Rig.run { rig in
      try await rig.signInByPassword()
      #expect(try await rig.sessions().count == 1)
      try await rig.signInOnAnotherDevice()
      #expect(try await rig.sessions() == ["client"])
      #expect(try await rig.child("token").outcome().status == 0)
      try await rig.signInByPassword()
      let left = try await rig.sessions()
      #expect(left.count == 1 && left != ["client"])
      #expect(try await rig.child("token").outcome().status == 0)
      let logout = try await rig.child("logout").outcome()
      #expect(logout.status == 0, "\(logout.words)")
      #expect(!logout.words.contains("refused"))
      #expect(try await rig.sessions().isEmpty)
    }
  }
}
#endif
