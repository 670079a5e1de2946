#if JOSE
import Testing

@testable import HandstampWebAuthn

@Suite(.timeLimit(.minutes(10))) struct `Client data` {
  private func read(_ text: String) -> CollectedClientData? { CollectedClientData(Array(text.utf8)) }
  private let least = #""type":"webauthn.get","challenge":"AQ","origin":"https://a.example""#

  @Test func `is read as browsers write it`() throws {
    let data = try #require(read("{\(least),\"crossOrigin\":true,\"topOrigin\":\"https://b.example\"}"))
    #expect(data.type == CollectedClientData.Kind.get.rawValue)
    #expect(data.challenge == "AQ")
    #expect(data.origin == "https://a.example")
    #expect(data.crossOrigin)
    #expect(data.topOrigin == "https://b.example")
    #expect(!data.usesTokenBinding)
  }

  @Test func `may lack what came later, and have what is unknown`() throws {
    let data = try #require(
      read(
        """
        {\(least),"other_keys_can_be_added_here":"do not compare clientDataJSON against a template","a":[{}],
        "androidPackageName":"x","tokenBinding":{"status":"supported"}}
        """))
    #expect(!data.crossOrigin)
    #expect(data.topOrigin == nil)
    #expect(!data.usesTokenBinding)
  }

  @Test func `may begin with a byte order mark`() {
    #expect(read("\u{FEFF}{\(least)}") != nil)
    #expect(read("\u{FEFF}\u{FEFF}{\(least)}") == nil)
  }

  @Test func `tells of token binding`() {
    #expect(read("{\(least),\"tokenBinding\":{\"status\":\"present\",\"id\":\"x\"}}")?.usesTokenBinding == true)
  }

  @Test(arguments: [
    #""type":"a","challenge":"b""#, #""type":"a","origin":"b""#, #""challenge":"a","origin":"b""#,
    #""type":1,"challenge":"a","origin":"b""#, #""type":"a","challenge":null,"origin":"b""#,
    #""type":"a","challenge":"b","origin":["c"]"#, #""type":"a","challenge":"b","origin":"c","crossOrigin":"false""#,
    #""type":"a","challenge":"b","origin":"c","crossOrigin":null"#,
    #""type":"a","challenge":"b","origin":"c","topOrigin":1"#,
    #""type":"a","challenge":"b","origin":"c","topOrigin":null"#,
  ])
  func `that lacks a member, or has one of another type, is refused`(_ members: String) {
    #expect(read("{\(members)}") == nil)
  }

  @Test func `that parsers could read differently is refused`() {
    #expect(read("{\(least),\"origin\":\"https://a.example\"}") == nil)
    #expect(read("{\(least),\"\\u006frigin\":\"https://b.example\"}") == nil)
    #expect(read("{\(least)} ") != nil)
    #expect(read("{\(least)}{") == nil)
    #expect(read("") == nil)
    #expect(CollectedClientData(Array("{\"type\":\"".utf8) + [0xFF] + Array("\"}".utf8)) == nil)
  }
}
#endif
