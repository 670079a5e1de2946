#if Programs
import ArgumentParser
import Foundation
import HandstampCore
import HandstampServer
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

@Suite(.timeLimit(.minutes(10))) struct `The file of providers` {
  /// Reads a file with this text, beside a file with a secret of that mode.
  private func providers(_ text: String, secretMode: Int = 0o600) throws -> [UpstreamProvider] {
    let folder = NSTemporaryDirectory() + "handstamp-test-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let secret = folder + "/google.secret"
    try "hush-hush\nnot this\n".write(toFile: secret, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: secretMode], ofItemAtPath: secret)
    let path = folder + "/providers.json"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return try ProviderFile.providers(at: path)
  }

  @Test func `needs little for a known provider, and names the file with the secret`() throws {
    let all = try providers(
      #"""
      [{"id": "google", "clientID": "c", "clientSecretFile": "google.secret", "trustsEmail": true,
        "signUp": "domain:Example.com,example.org"},
       {"id": "github", "clientID": "g"},
       {"id": "forge", "like": "github", "issuer": "https://github.example.org", "clientID": "f"},
       {"id": "own", "issuer": "https://id.example.org", "clientID": "o", "userInfo": {"id": "uid", "emailVerified": "ok"}}]
      """#)
    #expect(all.map(\.id) == ["google", "github", "forge", "own"])
    let google = try #require(all.first)
    #expect(google.issuer == "https://accounts.google.com" && google.name == "Google" && google.trustsEmail)
    #expect(google.clientSecret == Secret("hush-hush") && google.signUp == .domains(["example.com", "example.org"]))
    #expect(all[1].scopes == ["read:user", "user:email"] && all[1].clientSecret == nil && !all[1].trustsEmail)
    #expect(all[2].userInfo?.kind == "github")
    #expect(all[2].userInfo?.emailsEndpoint == "https://github.example.org/api/v3/user/emails")
    #expect(all[3].userInfo?.id == "uid" && all[3].userInfo?.emailVerified == "ok" && all[3].name == "own")
  }

  @Test(arguments: [
    #"{}"#, #"[{"id": "x"}]"#, #"[{"id": "google", "clientID": "c", "trustEmail": true}]"#,
    #"[{"id": "own", "clientID": "c"}]"#, #"[{"id": "own", "like": "nope", "clientID": "c"}]"#,
    #"[{"id": "Own", "issuer": "https://id.example.org", "clientID": "c"}]"#,
    #"[{"id": "own", "issuer": "http://id.example.org", "clientID": "c"}]"#,
    #"[{"id": "google", "clientID": "c", "signUp": "all"}]"#,
    #"[{"id": "google", "clientID": "c", "signUp": "domain:"}]"#,
    #"[{"id": "google", "clientID": "c", "logo": "google.secret"}]"#,
    #"[{"id": "google", "clientID": "c"}, {"id": "google", "clientID": "d"}]"#,
    #"[{"id": "google", "clientID": "c"}, {"id": "work", "like": "google", "clientID": "d"}]"#,
  ])
  func `is refused for any mistake`(_ text: String) throws {
    let refusal = try #require(throws: CommandError.self) { try providers(text) }
    #expect(refusal.exit == .usage && !refusal.hint.isEmpty)
    #expect(!refusal.message.contains("hush"))
  }

  @Test func `is written by the command, which leaves the secret where it is`() async throws {
    try await ProcessFixture.inFolder { folder in
      let (path, secret) = (folder + "/providers.json", folder + "/google.secret")
      try "hush-hush".write(toFile: secret, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
      let words = [
        "google", "--providers", path, "--client-id", "c", "--client-secret-in", secret, "--sign-up", "invited",
        "--trust-email",
      ]
      try await AdminProviders.Add.parse(words).run()
      #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("hush"))
      let provider = try #require(try ProviderFile.providers(at: path).first)
      #expect(provider.signUp == .invited && provider.trustsEmail && provider.clientSecret == Secret("hush-hush"))
      await #expect(throws: CommandError.self) { try await AdminProviders.Add.parse(words).run() }
      try await AdminProviders.Remove.parse(["google", "--providers", path]).run()
      #expect(try ProviderFile.providers(at: path).isEmpty)
      await #expect(throws: CommandError.self) {
        try await AdminProviders.Remove.parse(["google", "--providers", path]).run()
      }
    }
  }

  @Test func `is refused if others can read the secret, and never shows it`() throws {
    let text = #"[{"id": "google", "clientID": "c", "clientSecretFile": "google.secret"}]"#
    let refusal = try #require(throws: CommandError.self) { try providers(text, secretMode: 0o644) }
    #expect(refusal.message.contains("readable by other users") && !refusal.message.contains("hush"))
    let provider = try #require(try providers(text).first)
    #expect(!"\(provider)".contains("hush"))
  }
}
#endif
