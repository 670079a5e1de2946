#if Programs
import Foundation
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

/// A new setting needs a row: a wrong value of each kind that it can have.
@Suite(.timeLimit(.minutes(10))) struct `A wrong setting of the server` {
  /// Values, and the words of `--check`. `@` at the beginning is the folder of the test; a secret is given as a variable.
  private static let rows: [(name: String, values: [String], words: String)] = [
    ("data", ["/dev/null", "@/text/x"], "a folder, or a place for one"),
    ("database", ["postgresql//x", "mysql://db/x", "postgresql://db:x/y"], "the address of the database"),
    ("database-connections", ["4", "501", "many"], "a number from"),
    ("host", ["a/b", "a b", "999.1.1.1", "a..b"], "a valid address"),
    ("port", ["-1", "65536", "http"], "a number from"),
    (
      "issuer",
      [
        "id.example.org", "ftp://id.example.org", "https://", "https:///x", "https://ID.example.org",
        "https://id.example.org/", "https://id.example.org:0", "https://id.example.org:65536",
        "https://a b.example.org", "https://id.example.org/a b", "https://id.example.org?a=b",
        "https://id.example.org#a", "https://1.2.3.400",
      ], "a valid issuer"
    ),
    ("issuer", ["https://id.example.org/a/../b", "https://id.example.org/a//b"], "a plain path"),
    ("issuer", ["http://id.example.org"], "tokens would cross the network in clear"),
    ("tls-certificate", ["@/text"], "needs its key"), ("tls-key", ["@/text"], "needs its certificate"),
    ("issuer-slash", ["maybe"], "one of"), ("ephemeral-idle-limit", ["0s"], "a duration from"),
    ("client-registration", [#"a"b"#, "a,,b"], "a list of scopes"),
    ("allow-cleartext", ["maybe"], "one of"), ("hsts-subdomains", ["maybe"], "one of"),
    ("trusted-proxies", ["10.0.0.0/33", "proxy", "unix,", "10.0.0.0/x"], "a list of addresses"),
    ("proxy-header", ["x-real-ip"], "one of"), ("access-token-life", ["0s", "25h", "10", "-1s"], "a duration from"),
    ("idle-limit", ["0s", "3651d", "soon"], "a duration from"), ("absolute-limit", ["0s", "1y"], "a duration from"),
    ("browser-idle-limit", ["0s"], "a duration from"), ("guest-idle-limit", ["0s"], "a duration from"),
    ("browser-absolute-limit", ["0s"], "a duration from"), ("max-sessions", ["0", "1.5"], "a number from"),
    ("reauthenticate-after", ["0s"], "a duration from"), ("end-repeated-codes", ["maybe"], "one of"),
    (
      "require-assurance", ["staff", "staff=", "=mfa", "staff=two", "staff=mfa,staff=phr", "my staff=mfa"],
      "a list of groups and strengths"
    ),
    ("retention", ["0s"], "a duration from"), ("sign-up", ["invited"], "one of"),
    ("minimum-password", ["7", "65"], "a number from"), ("breached-passwords", ["/no/such", "@/text"], "a folder"),
    ("breached-passwords", ["@"], "no range files"), ("rate-limits", ["some"], "one of"),
    ("mail-folder", ["@/text", "@/text/x"], "a folder, or a place for one"),
    ("sendmail", ["sh", "/no/such/program", "/usr", "@/text"], "an executable program"),
    ("smtp", ["mail.example.org", "ftp://mail.example.org", "smtps://", "smtps://a b"], "the URL of a mail server"),
    ("smtp", ["smtps://ada:x@mail.example.org"], "contains a user"), ("smtp-user", ["ada"], "needs the server"),
    ("smtp-password", ["hush"], "needs the server"), ("smtp-password-file", ["/no/such", "@/blank"], "a secret in"),
    ("ca-certificates", ["/no/such", "@/text", "@/damaged.pem"], "no certificates in"),
    ("smtp-cleartext", ["maybe"], "one of"), ("mail-from", ["ada", "a, b@example.org"], "a plain email address"),
    (
      "mail-link",
      [
        "https://app.example.org/", "{token}", "https:///{token}", "javascript:{token}", "ftp://example.org/{token}",
        "https://app.example.org/{user}#{token}", "https://app.example.org/{{token}",
        "https://app.example.org/ {token}",
      ], "a URL with {token}"
    ),
    ("notices", ["new", "all,none"], "a list of notices"),
    ("devices-link", ["/devices", "javascript://a/b", "https:///", "https://a b"], "the URL of a page or an app"),
    ("client-documents", [#"a"b"#, "a,,b"], "a list of scopes"),
    ("client-document-audiences", ["my api", "api", "https://api.example.org/#a"], "a list of absolute URIs"),
    ("web-origins", ["https://app.example.org/", "app", "http://app.example.org"], "the https origin"),
    ("passkey-domain", ["example.com", "example", "org"], "cannot have passkeys"),
    ("apple-apps", ["forum"], "a list of App IDs"),
    ("android-apps", ["org.example.forum=14:6D"], "a list of packages"),
    ("site-name", [String(repeating: "a", count: 81)], "a name of 1 to 80"),
    ("site-logo", ["/no/such.png", "@/text", "@/text.png", "@/text.svg"], "an image"),
    ("accent", ["red", "#12345g"], "not a color"), ("pages", ["/no/such", "@/text"], "a folder"),
    ("pages", ["@/pages"], "a form that posts has no {{{csrf}}}"), ("clients", ["/no/such"], "missing"),
    ("clients", ["@/text"], "not a list of clients"), ("providers", ["@/text"], "not a list of providers"),
    ("providers", ["@/providers.json"], "work and home have the same issuer"),
    ("app-config", ["/no/such"], "a readable file"), ("app-config", ["@/text"], "not a JSON object"),
    ("apple-client-id", ["a b", "a,,b"], "a list of app IDs"), ("apple-team-id", ["ABC", "----------"], "ten letters"),
    ("apple-key-id", ["ABCDE1234é"], "ten letters"), ("apple-key", ["/no/such"], "a readable file"),
    ("apple-key", ["@/text"], "Apple's key needs"), ("apple-issuer", ["apple"], "an https URL"),
    ("apple-keys-url", ["/keys", "http://apple.example.org"], "an https URL"),
    ("former-sessions", ["maybe"], "one of"),
    ("former-issuer", ["https://former.example.org"], "needs a way to check sessions"),
    ("former-subject", ["id"], "needs a way to check sessions"),
    ("former-introspection-url", ["http://a.example.org", "https://a.example.org/#a"], "an https URL"),
    ("former-token-url", ["token"], "an https URL"), ("former-userinfo-url", ["https://a b"], "an https URL"),
    ("former-userinfo-url", ["https://a.example.org"], "needs a way to check sessions"),
    ("former-revocation-url", ["http://a.example.org"], "an https URL"),
    ("former-gotrue-url", ["http://a.example.org"], "an https URL"),
    ("former-client-id", ["app"], "needs a way to check sessions"),
    ("former-app-ids", ["a,,b"], "a list of client IDs"),
    ("former-client-secret", ["hush"], "needs a way to check sessions"),
    ("former-client-secret-file", ["/no/such", "@/blank"], "a secret in"), ("keys", ["{}", "hush"], "key file"),
    ("keys-file", ["/no/such", "@/blank"], "a secret in"), ("admin-token", ["hush"], "32 printable characters"),
    ("admin-token-file", ["/no/such", "@/blank"], "a secret in"), ("audit-retention", ["0s"], "a duration from"),
    ("address-retention", ["0s"], "a duration from"), ("audit-to-log", ["maybe"], "one of"),
    ("metrics-address", ["9464", "a b:1", "::1:9464", "127.0.0.1:70000"], "an address and a port"),
    ("shutdown-delay", ["6m"], "a duration from"), ("log-level", ["loud"], "one of"),
  ]

  /// Returns the refusal of `--check`.
  private func refusal(of name: String, _ value: String, in folder: String) async throws -> CommandError? {
    var flags = ["data": folder + "/data", "issuer": "https://id.example.org", "port": "1"]
    var environment: [String: String] = [:]
    let setting = try #require(ServeSettings.all.first { $0.name == name })
    if setting.isSecret { environment[setting.variable] = value } else { flags[name] = value }
    do {
      try await SettingsCheck(settings: try ServeSettings(flags: flags, environment: environment, file: nil)).run()
      return nil
    } catch { return try #require(error as? CommandError, "\(name) \(value): \(error)") }
  }

  @Test func `is refused with words that name what is right, and a hint`() async throws {
    #expect(Set(Self.rows.map { $0.name }) == Set(ServeSettings.all.map(\.name)))
    try await ProcessFixture.inFolder { folder in
      let providers = #"""
        [{"id": "work", "issuer": "https://sso.example.org", "clientID": "a"},
         {"id": "home", "issuer": "https://sso.example.org/", "clientID": "b"}]
        """#
      let damaged = "-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n"
      try FileManager.default.createDirectory(atPath: folder + "/pages", withIntermediateDirectories: true)
      for (name, text) in [
        ("text", "words"), ("text.png", "words"), ("text.svg", "words"), ("blank", "\n"), ("damaged.pem", damaged),
        ("providers.json", providers), ("pages/sign_in.mustache", #"<form method="post"></form>"#),
      ] {
        try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
      }
      for (name, values, words) in Self.rows {
        for value in values {
          let given = value.hasPrefix("@") ? folder + value.dropFirst() : value
          let refusal = try await refusal(of: name, given, in: folder)
          #expect(refusal?.message.contains(words) == true, "\(name) \(value): \(refusal?.message ?? "accepted")")
          #expect(refusal?.hint.isEmpty == false, "\(name) \(value)")
          #expect(refusal?.message.contains("hush") != true, "\(name)")
        }
      }
    }
  }

  @Test func `is refused whatever it is if it is blank, or has characters that change a line`() async throws {
    for setting in ServeSettings.all {
      for value in ["", " ", setting.isSecret ? "\n" : "a\u{7}", setting.isSecret ? "\t" : "a\u{202E}"] {
        let refusal = try await refusal(of: setting.name, value, in: "/x")
        #expect(refusal?.exit == .usage, "\(setting.name) \(value.debugDescription)")
      }
    }
  }

  @Test(arguments: [
    ("proxy-header", "forwarded", "no effect without --trusted-proxies"), ("idle-limit", "10m", "ends those in use"),
    ("guest-idle-limit", "1m", "ends those in use"),
  ])
  func `that has another effect than was meant is pointed out`(name: String, value: String, words: String) throws {
    let settings = try ServeSettings(flags: ["data": "/x", name: value], environment: [:], file: nil)
    #expect(settings.warnings.contains { $0.contains(words) }, "\(settings.warnings)")
  }
}
#endif
