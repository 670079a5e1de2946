#if Programs
import Foundation
import HandstampOAuth
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `The file that says how an account signs in` {
  private func record(_ more: String, issuer: String = "https://id.example.org") throws -> OAuthRecord {
    let text = #"{"issuer":"\#(issuer)","client":"app","scopes":["read"]\#(more)}"#
    return try JSONDecoder().decode(OAuthRecord.self, from: Data(text.utf8))
  }

  @Test func `says only what differs from the usual`() throws {
    let client = try record(#","redirect":"http://127.0.0.1:8085/callback","hasSecret":true,"overlap":30"#)
      .settings(secret: nil)
    #expect(client.provider == nil && client.parameters.isEmpty && client.resources.isEmpty)
    #expect(client.scopes == ["read"] && client.redirectURI == "http://127.0.0.1:8085/callback")
  }

  @Test func `describes the server on top of what is known`() throws {
    let own = try record(#","endpoints":{"device":"https://id.example.org/code"},"userID":["id"],"secretPlace":"form""#)
      .settings(secret: nil).provider
    #expect(
      own
        == OAuthProvider(endpoints: [.device: "https://id.example.org/code"], clientSecretIn: .form, userID: ["id"]))
    let github = try record(#","secretPlace":"header""#, issuer: "https://github.com").settings(secret: nil).provider
    #expect(github?.endpoints[.token] == "https://github.com/login/oauth/access_token")
    #expect(github?.clientSecretIn == .header && github?.userID == ["id"])
    let enterprise = try record(#","provider":"github""#).settings(secret: nil).provider
    #expect(enterprise?.endpoints[.userInfo] == "https://id.example.org/api/v3/user")
  }

  @Test func `of a later version is read as far as it is understood`() throws {
    let client = try record(
      #","provider":"later","secretPlace":"mail","endpoints":{"later":"https://id.example.org"},"later":1"#
    ).settings(secret: nil)
    #expect(client.provider == OAuthProvider())
  }

  @Test(arguments: [
    #","endpoints":[]"#, #","endpoints":{"device":7}"#, #","provider":7"#, #","secretPlace":[]"#, #","userID":"id""#,
    #","parameters":"a=b""#, #","parameters":{"a":null}"#, #","resources":{}"#,
  ])
  func `with a member of another type is not used at all`(more: String) {
    #expect(throws: DecodingError.self) { try record(more) }
  }
}
#endif
