#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// One account of one home that signs in by our own protocol and as clients, in turns: a server ends a session only for the client
/// that it belongs to.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `The command whose account changes its client` {
  private struct Fixture {
    let server: OwnServer
    let home: String

    static func run(_ body: @Sendable (Fixture) async throws -> Void) async throws {
      let home = NSTemporaryDirectory() + "handstamp-clients-\(UInt64.random(in: 0 ... .max))"
      defer { try? FileManager.default.removeItem(atPath: home) }
      try await OwnServer.run { server async throws in
        try await server.signUp()
        try await body(Fixture(server: server, home: home))
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
      try await WebPerson().allow(RunningCommand(log: log).code(), at: server.url + "/device")
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

  @Test func `leaves one session at the server, whatever the previous ones were`() async throws {
    try await Fixture.run { fixture in
      try await fixture.signInByPassword()
      #expect(try await fixture.sessions().count == 1)
      try await fixture.signInOnAnotherDevice()
      #expect(try await fixture.sessions() == ["client"])
      #expect(try await fixture.child("token").outcome().status == 0)
      try await fixture.signInByPassword()
      let left = try await fixture.sessions()
      #expect(left.count == 1 && left != ["client"])
      #expect(try await fixture.child("token").outcome().status == 0)
      let logout = try await fixture.child("logout").outcome()
      #expect(logout.status == 0, "\(logout.words)")
      #expect(!logout.words.contains("refused"))
      #expect(try await fixture.sessions().isEmpty)
    }
  }
}
#endif
