#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import HandstampWebAuthn
import Testing

@testable import HandstampServer

enum TestApps {
  static let fingerprint =
    "14:6D:E9:83:C5:73:06:50:D8:EE:B9:95:2F:34:FC:64:16:A0:83:42:E6:1D:BE:A8:8A:04:96:B2:3F:CF:44:E5"

  static func android(_ package: String = "org.example.forum") throws -> AndroidApp {
    try #require(AndroidApp("\(package)=\(fingerprint)"))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The apps of a server` {
  private let page = ["Accept": "text/html"]
  private let apple = "/.well-known/apple-app-site-association"
  private let android = "/.well-known/assetlinks.json"

  @Test func `are named to Apple with the paths that web sign-in returns to`() async throws {
    let app = try #require(AppleApp("ABCDE12345.org.example.forum"))
    let client = try ConfiguredClient(
      id: "forum",
      redirectURIs: [
        "https://id.example.org/callback/forum", "https://id.example.org/callback/a*", "https://id.example.org/sign-in",
        "https://id.example.org/", "https://id.example.org.evil.example/callback", "org.example.forum:/callback",
      ], postLogoutRedirectURIs: ["https://id.example.org/callback/bye"])
    let wiki = try ConfiguredClient(
      id: "wiki", secretHash: [UInt8](repeating: 1, count: 32), redirectURIs: ["https://id.example.org/wiki/callback"])
    try await TestServer.run {
      $0.appleApps = [app]
      $0.clients = [client, wiki]
    } body: { test async throws in
      let response = try await test.client.get(apple)
      #expect(response.status == 200)
      #expect(response.headers["content-type"] == "application/json")
      #expect(response.headers["cache-control"] == "public, max-age=3600")
      #expect(
        response.text
          == #"{"webcredentials":{"apps":["ABCDE12345.org.example.forum"]},"#
          + #""applinks":{"details":[{"appIDs":["ABCDE12345.org.example.forum"],"#
          + #""components":[{"/":"/callback/bye"},{"/":"/callback/forum"}]}]}}"#)
      let tag = try #require(response.headers["etag"])
      #expect(try await test.client.get(apple, headers: ["If-None-Match": tag]).status == 304)
      #expect(try await test.client.get(android).status == 404)
    }
  }

  @Test func `have no links if no client returns to the server's host`() async throws {
    let app = try #require(AppleApp("ABCDE12345.org.example.forum"))
    try await TestServer.run {
      $0.appleApps = [app]
    } body: { test async throws in
      #expect(
        try await test.client.get(apple).text == #"{"webcredentials":{"apps":["ABCDE12345.org.example.forum"]}}"#)
    }
  }

  @Test func `are named to Google with all their certificates`() async throws {
    let other = TestApps.fingerprint.replacing("14:6D", with: "00:FF")
    let apps = [
      try TestApps.android("org.example.wiki"), try TestApps.android(),
      try #require(AndroidApp("org.example.forum=\(other.lowercased())")),
    ]
    try await TestServer.run {
      $0.androidApps = apps
    } body: { test async throws in
      let response = try await test.client.get(android)
      #expect(response.status == 200)
      #expect(response.headers["content-type"] == "application/json")
      let statements = try #require(JSONValue(Array(response.text.utf8))?.array)
      #expect(
        statements.map { $0["target"]?["package_name"]?.string } == ["org.example.forum", "org.example.wiki"])
      #expect(
        statements.first?["target"]?["sha256_cert_fingerprints"]
          == .array([.string(TestApps.fingerprint), .string(other)]))
      for statement in statements {
        #expect(statement["target"]?["namespace"]?.string == "android_app")
        #expect(
          statement["relation"]
            == .array([
              .string("delegate_permission/common.handle_all_urls"),
              .string("delegate_permission/common.get_login_creds"),
            ]))
      }
      #expect(try await test.client.get(apple).status == 404)
    }
  }

  @Test func `are named at the root of the host, also below a path`() async throws {
    let app = try #require(AppleApp("ABCDE12345.org.example.forum"))
    let client = try ConfiguredClient(
      id: "forum", redirectURIs: ["https://id.example.org/auth/done", "https://id.example.org/done"])
    try await TestServer.run {
      $0.issuer = "https://id.example.org/auth"
      $0.mountPath = "/auth"
      $0.appleApps = [app]
      $0.clients = [client]
    } body: { test async throws in
      #expect(try await test.client.get(apple).text.contains(#""components":[{"/":"/auth/done"}]"#))
      #expect(try await test.client.get("/auth" + apple).status == 404)
      #expect(try await Browser(test.client.base).get("/auth/done", headers: page).title == "Open the app")
    }
  }

  @Test func `have a page where they are not installed`() async throws {
    let client = try ConfiguredClient(id: "forum", redirectURIs: ["https://id.example.org/callback"])
    try await TestServer.run {
      $0.clients = [client]
    } body: { test async throws in
      let shown = try await Browser(test.client.base).get("/callback?code=Xq7code&state=s", headers: page)
      #expect(shown.status == 200)
      #expect(shown.title == "Open the app")
      #expect(!shown.text.contains("Xq7code"))
      #expect(try await Browser(test.client.base).get("/callback?lang=de", headers: page).title == "Öffnen Sie die App")
      #expect(try await test.client.get("/callback").status == 404)
      #expect(try await Browser(test.client.base).get("/callback/more", headers: page).status == 404)
    }
  }

  @Test(arguments: [
    "", "org.example.forum", "ABCDE1234.org.example.forum", "abcde12345.org.example.forum", "ABCDE12345",
    "ABCDE12345.", "ABCDE12345.org..forum", "ABCDE12345.org.example.*", "ABCDE12345.org.example.forum ",
  ])
  func `have App IDs of Apple`(text: String) {
    #expect(AppleApp(text) == nil)
  }

  @Test(arguments: [
    "", "org.example.forum", "forum=\(TestApps.fingerprint)", "org..forum=\(TestApps.fingerprint)",
    "org.example.forum=\(TestApps.fingerprint):00", "org.example.forum=\(TestApps.fingerprint.dropLast(3))",
    "org.example.forum=\(TestApps.fingerprint.replacing(":", with: ""))", "org.1.forum=\(TestApps.fingerprint)",
    "org.example.forum=\(TestApps.fingerprint.replacing("E9", with: "G9"))",
  ])
  func `have packages and fingerprints of Android`(text: String) {
    #expect(AndroidApp(text) == nil)
  }

  @Test func `are not more than Apple's servers read`() async throws {
    let app = try #require(AppleApp("ABCDE12345." + String(repeating: "a", count: 64 * 1024)))
    await #expect(throws: ServerConfigurationError.appleApps) {
      try await TestServer.run({ $0.appleApps = [app, app] }) { _ in }
    }
  }

  /// The origin in the client data of Android's Credential Manager.
  @Test func `on Android may use the passkeys of the server`() throws {
    let app = try TestApps.android()
    let party = try PasskeyDomain.issuer.party(
      of: "https://id.example.org", and: [], apps: [app], name: "Example")
    #expect(
      party?.origins
        == ["https://id.example.org", "android:apk-key-hash:FG3pg8VzBlDY7rmVLzT8ZBagg0LmHb6oigSWsj_PROU"])
  }
}
#endif
