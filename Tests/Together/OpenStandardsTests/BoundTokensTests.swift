#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// `handstamp login --dpop` at our own server, which requires proofs with a nonce.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `The command with tokens that are bound to a key` {
  private struct Fixture {
    let server: OwnServer
    let home: String

    static func run(_ body: @Sendable (Fixture) async throws -> Void) async throws {
      let home = NSTemporaryDirectory() + "handstamp-bound-\(UInt64.random(in: 0 ... .max))"
      try FileManager.default.createDirectory(
        atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      defer { try? FileManager.default.removeItem(atPath: home) }
      try await OwnServer.run { server async throws in
        try await server.signUp()
        try await body(Fixture(server: server, home: home))
      }
    }

    func run(_ words: String, input: String = "") async throws -> Child.Outcome {
      try await Child(
        words.split(separator: " ").map(String.init), variables: ["HANDSTAMP_HOME": home], input: input
      ).outcome()
    }

    func signIn(_ option: String) async throws {
      let log = home + "/words-\(UInt64.random(in: 0 ... .max))"
      let words = "login --issuer \(server.url) --device --client-id app --scope profile --force " + option
      let login = try Child(
        words.split(separator: " ").map(String.init), variables: ["HANDSTAMP_HOME": home], input: "", log: log)
      try await WebPerson().allow(RunningCommand(log: log).code(), at: server.url + "/device")
      let status = try await login.outcome().status
      try #require(status == 0, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
    }

    /// The address of the signed-in user.
    var me: String { server.url + "/v1/me" }

    /// The fields that `handstamp token --dpop` prints.
    func fields(_ options: String = "") async throws -> [HeaderField] {
      let printed = try await run("token --dpop \(me) \(options)")
      #expect(printed.status == 0, "\(printed.words)")
      return printed.out.split(separator: "\n").map { line in
        let parts = line.split(separator: ":", maxSplits: 1)
        return HeaderField(String(parts[0]), parts.count > 1 ? String(parts[1].dropFirst()) : "")
      }
    }

    func get(_ fields: [HeaderField], at url: String? = nil) async throws -> TransportResponse {
      try await AsyncHTTPTransport.shared.send(TransportRequest(method: "GET", url: url ?? me, headers: fields))
    }

    /// The nonce that the server demands.
    func nonce() async throws -> String {
      let refusal = try await get(try await fields())
      #expect(refusal.status == 401)
      return try #require(refusal.header("DPoP-Nonce"))
    }

    /// Makes the access token in the vault expire, as if its lifetime had passed.
    func expire() async throws {
      let home = Home(path: home)
      let account = try #require(try await home.accounts.read().get().accounts.first)
      let vault = home.vault(of: account.id)
      guard case .value(let entry) = await vault.read(), var session = entry.session else {
        throw Program.Failed(description: "not signed in")
      }
      session.access?.lifetime = Lifetime(
        start: SystemClock().now().advanced(by: .seconds(-700)), duration: .seconds(600))
      guard case .done = await vault.edit(.putBack(session, revision: entry.revision)) else {
        throw Program.Failed(description: "the vault was not written")
      }
    }

    /// The file with the key.
    func key() throws -> String {
      let names = try FileManager.default.contentsOfDirectory(atPath: home + "/oauth").filter { $0.hasSuffix(".dpop") }
      return home + "/oauth/" + (try #require(names.first))
    }
  }

  @Test func `proves its own requests, and gives no program a token that it could not use`() async throws {
    try await Fixture.run { fixture in
      try await fixture.signIn("--dpop")
      for words in ["request /v1/me", "status --verify", "refresh", "request /v1/me"] {
        let outcome = try await fixture.run(words)
        #expect(outcome.status == 0 && !outcome.out.isEmpty, "\(words): \(outcome.out) \(outcome.words)")
      }
      let host = fixture.server.url.dropFirst("http://".count)
      for (words, input) in [
        ("token", ""), ("token --as-headers", ""), ("token --scope profile", ""), ("exec -- true", ""),
        ("credential-helper get", "protocol=http\nhost=\(host)\n\n"),
      ] {
        let outcome = try await fixture.run(words, input: input)
        #expect(outcome.status == 1 && outcome.out.isEmpty, "\(words): \(outcome.words)")
        #expect(outcome.words.contains("run: handstamp request, or handstamp token --dpop URL"), "\(outcome.words)")
      }
      #expect(try await fixture.run("token --json").words.contains(#""code":"token_bound""#))
      let attributes = try FileManager.default.attributesOfItem(atPath: try fixture.key())
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test func `prints the fields of one request, which the server takes once, and for no other`() async throws {
    try await Fixture.run { fixture in
      try await fixture.signIn("--dpop")
      let nonce = try await fixture.nonce()
      let fields = try await fixture.fields("--dpop-nonce \(nonce)")
      #expect(fields.map(\.name) == ["Authorization", "DPoP"] && fields[0].value.hasPrefix("DPoP "))
      #expect(try await fixture.get(fields).status == 200)
      #expect(try await fixture.get(fields).status == 401, "the proof was used")

      let posting = try await fixture.run("token --dpop \(fixture.me) -X post --as-headers --dpop-nonce \(nonce)")
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(posting.out.utf8)) as? [String: String], "\(posting.words)")
      #expect(Set(object.keys) == ["Authorization", "DPoP"])
      #expect(try await fixture.get(object.map { HeaderField($0, $1) }).status == 401, "it is for another method")
      let other = try await fixture.fields("--dpop-nonce \(nonce)")
      #expect(
        try await fixture.get(other, at: fixture.server.url + "/v1/sessions").status == 401, "it is for another URL")
      // A thief has the token alone.
      let token = other[0].value.dropFirst("DPoP ".count)
      #expect(try await fixture.get([HeaderField("Authorization", "Bearer \(token)")]).status == 401)
      #expect(try await fixture.get([HeaderField("Authorization", "DPoP \(token)")]).status == 401)
      #expect(try await fixture.get(other).status == 200, "the attempts have used up nothing")

      for words in [
        "token --dpop http://api.example.org/", "token --dpop api.example.org", "token --dpop \(fixture.me) --json",
        "token --dpop \(fixture.me) --id-token", "token --dpop \(fixture.me) -X a:b",
      ] {
        let outcome = try await fixture.run(words)
        #expect(outcome.status == 64 && outcome.out.isEmpty, "\(words): \(outcome.words)")
      }
    }
  }

  @Test func `refreshes in another process, and keeps the session while the key is away`() async throws {
    try await Fixture.run { fixture in
      try await fixture.signIn("--dpop")
      let first = try await fixture.fields()[0]
      try await fixture.expire()
      #expect(try await fixture.run("request /v1/me").status == 0)
      #expect(try await fixture.fields()[0] != first)

      let key = try fixture.key()
      try FileManager.default.moveItem(atPath: key, toPath: fixture.home + "/away")
      try await fixture.expire()
      for words in ["request /v1/me", "token --dpop \(fixture.me)", "refresh"] {
        let outcome = try await fixture.run(words)
        #expect(outcome.status == 5 && outcome.out.isEmpty, "\(words): \(outcome.words)")
        #expect(outcome.words.contains("cannot use the key that the tokens are bound to"), "\(words): \(outcome.words)")
        #expect(outcome.words.contains("hint: restore the file, or run: handstamp login --force"))
      }
      #expect(!FileManager.default.fileExists(atPath: key), "no other key takes its place")
      // As a sign-in that the user did not complete leaves it.
      _ = try DPoPKey(file: key)
      let other = try await fixture.run("request /v1/me")
      #expect(other.status == 5 && other.words.contains("is another key"), "\(other.words)")

      try FileManager.default.removeItem(atPath: key)
      try FileManager.default.moveItem(atPath: fixture.home + "/away", toPath: key)
      let again = try await fixture.run("request /v1/me")
      #expect(again.status == 0, "the session was kept: \(again.words)")
    }
  }

  @Test func `signs out at the server without the key`() async throws {
    try await Fixture.run { fixture in
      try await fixture.signIn("--dpop")
      let nonce = try await fixture.nonce()
      let before = try await fixture.fields("--dpop-nonce \(nonce)")
      let after = try await fixture.fields("--dpop-nonce \(nonce)")
      #expect(try await fixture.get(before).status == 200)
      try FileManager.default.removeItem(atPath: try fixture.key())
      let logout = try await fixture.run("logout")
      #expect(logout.status == 0 && logout.words.contains("signed out Ada"), "\(logout.words)")
      #expect(!logout.words.contains("revoke"), "\(logout.words)")
      #expect(try await fixture.get(after).status == 401)
    }
  }

  @Test func `stays bound until the user signs in with --no-dpop`() async throws {
    try await Fixture.run { fixture in
      try await fixture.signIn("--dpop")
      try await fixture.signIn("")
      #expect(try await fixture.run("token").status == 1)
      try await fixture.signIn("--no-dpop")
      let token = try await fixture.run("token")
      #expect(token.status == 0, "\(token.words)")
      let field = HeaderField("Authorization", "Bearer \(token.out.dropLast())")
      #expect(try await fixture.get([field]).status == 200)
      let refused = try await fixture.run("token --dpop \(fixture.me) --as-headers")
      #expect(refused.status == 1 && refused.words.contains("are bound to no key"), "\(refused.words)")
    }
  }
}
#endif
