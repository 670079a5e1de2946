#if JOSE
import HandstampSupport
import Testing

@testable import HandstampWebAuthn

@Suite(.timeLimit(.minutes(10))) struct `A relying party` {
  private func party(_ id: String, _ origins: Set<String>) throws(RelyingParty.ConfigurationError) -> RelyingParty {
    try RelyingParty(id: id, name: "x", origins: origins)
  }

  @Test func `has an RP ID and origins that browsers accept`() {
    for (id, origins) in [
      ("example.com", ["https://example.com", "https://a.b.example.com", "https://example.com:8443"]),
      ("localhost", ["http://localhost:8080", "http://localhost", "https://localhost:8443"]),
      ("xn--bcher-kva.example", ["https://xn--bcher-kva.example"]), ("a1.example", ["https://a1.example"]),
    ] as [(String, Set<String>)] {
      #expect(throws: Never.self, "\(id)") { try party(id, origins) }
    }
  }

  @Test(arguments: [
    "", ".", "example.com.", ".example.com", "a..b", "Example.com", "example.com:443", "https://example.com",
    "127.0.0.1",
    "[::1]", "bücher.example", "-a.example", "a-.example", "a_b.example", "a b", "example.com/",
    String(repeating: "a", count: 64) + ".example",
    Array(repeating: "abcdefg", count: 32).joined(separator: "."),
  ])
  func `has a domain as its ID`(_ id: String) {
    #expect(throws: RelyingParty.ConfigurationError.invalidID(id)) { try party(id, ["https://\(id)"]) }
  }

  @Test(arguments: [
    "", "example.com", "https://example.com/", "https://example.com/a", "https://example.com:443",
    "HTTPS://example.com",
    "https://Example.com", "https://example.com?", "https://u@example.com", "android:apk-key-hash:AA", "null",
    "https://*.example.com:x", "wss://example.com",
  ])
  func `has origins as browsers write them`(_ origin: String) {
    #expect(throws: RelyingParty.ConfigurationError.invalidOrigin(origin)) { try party("example.com", [origin]) }
  }

  @Test func `has an origin`() {
    #expect(throws: RelyingParty.ConfigurationError.noOrigin) { try party("example.com", []) }
  }

  @Test func `has origins with encryption, but on this machine`() {
    #expect(throws: RelyingParty.ConfigurationError.insecureOrigin("http://example.com")) {
      try party("example.com", ["http://example.com"])
    }
  }

  @Test(arguments: [
    "https://example.org", "https://badexample.com", "https://com", "https://example.com.evil.example",
    "http://localhost:8080", "https://127.0.0.1",
  ])
  func `has origins below its ID`(_ origin: String) {
    #expect(throws: RelyingParty.ConfigurationError.foreignOrigin(origin)) {
      try party("example.com", ["https://example.com", origin])
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The options of a ceremony` {
  private func json(_ text: JSONText) throws -> JSONValue { try #require(JSONValue(text.finished)) }

  private func passkey(_ transports: [String]) throws -> Passkey {
    let passkey = try SoftAuthenticator().passkey()
    return Passkey(
      id: passkey.id, publicKey: passkey.publicKey, userHandle: passkey.userHandle, signCount: 0,
      isBackupEligible: false, isBackedUp: false, transports: transports)
  }

  @Test func `ask for a discoverable passkey with user verification and without attestation`() throws {
    let handle = try #require(UserHandle([UInt8](repeating: 255, count: 64)))
    let user = PasskeyUser(handle: handle, name: "ada\"@example.com", displayName: "Ada\u{1F469}\n")
    let (one, other) = (try passkey(["usb", "nfc"]), try passkey([]))
    let options = try json(
      Site.server().registrationOptions(for: user, challenge: Site.challenge(1), excluding: [one, other]))
    #expect(
      options
        == .object([
          "rp": .object(["id": .string("example.com"), "name": .string("Example")]),
          "user": .object([
            "id": .string(handle.text), "name": .string("ada\"@example.com"),
            "displayName": .string("Ada\u{1F469}\n"),
          ]),
          "challenge": .string("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE"),
          "pubKeyCredParams": .array([
            .object(["type": .string("public-key"), "alg": .integer(-7)]),
            .object(["type": .string("public-key"), "alg": .integer(-257)]),
          ]),
          "timeout": .integer(300_000),
          "excludeCredentials": .array([
            .object([
              "type": .string("public-key"), "id": .string(one.id.text),
              "transports": .array([.string("usb"), .string("nfc")]),
            ]),
            .object(["type": .string("public-key"), "id": .string(other.id.text)]),
          ]),
          "authenticatorSelection": .object([
            "residentKey": .string("required"), "requireResidentKey": .bool(true),
            "userVerification": .string("required"),
          ]),
          "attestation": .string("none"),
        ]))
  }

  @Test func `ask for a sign-in with user verification`() throws {
    let options = try json(Site.server().assertionOptions(challenge: Site.challenge(1), timeout: .milliseconds(1500)))
    #expect(
      options
        == .object([
          "challenge": .string(Site.challenge(1).text), "timeout": .integer(1500), "rpId": .string("example.com"),
          "allowCredentials": .array([]), "userVerification": .string("required"),
        ]))
    let passkey = try passkey(["hybrid"])
    let narrow = try json(Site.server().assertionOptions(challenge: Site.challenge(1), allowing: [passkey]))
    #expect(
      narrow["allowCredentials"]
        == .array([
          .object([
            "type": .string("public-key"), "id": .string(passkey.id.text), "transports": .array([.string("hybrid")]),
          ])
        ]))
  }

  @Test func `have a timeout of at most an hour`() throws {
    for (timeout, milliseconds) in [
      (.seconds(-1), 0), (.zero, 0), (.seconds(3600), 3_600_000), (.seconds(3601), 3_600_000),
      (Duration(secondsComponent: .max, attosecondsComponent: 0), 3_600_000),
      (.nanoseconds(999_999), 0), (.nanoseconds(1_000_000), 1),
    ] as [(Duration, Int64)] {
      let options = try json(Site.server().assertionOptions(challenge: Site.challenge(1), timeout: timeout))
      #expect(options["timeout"]?.integer == milliseconds)
    }
  }

  @Test func `have values of fixed sizes`() {
    for (count, fits) in [(0, false), (31, false), (32, true), (64, true), (65, false)] {
      #expect((UserHandle([UInt8](repeating: 1, count: count)) != nil) == fits)
    }
    for (count, fits) in [(0, false), (31, false), (32, true), (33, false)] {
      #expect((PasskeyChallenge([UInt8](repeating: 1, count: count)) != nil) == fits)
    }
    for (count, fits) in [(0, false), (1, true), (1023, true), (1024, false)] {
      #expect((CredentialID([UInt8](repeating: 1, count: count)) != nil) == fits)
    }
    #expect(CredentialID(text: "AQ")?.bytes == [1])
    // Another spelling.
    #expect(CredentialID(text: "AR") == nil)
    #expect(CredentialID(text: "AQ==") == nil)
  }
}
#endif
