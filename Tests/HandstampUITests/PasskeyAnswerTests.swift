import Foundation
import HandstampCore
import HandstampSupport
import HandstampUI
import Testing

@Suite(.timeLimit(.minutes(1))) struct `The sheet for passkeys` {
  @Test func `gets what it needs of the server's options`() throws {
    let options = #"""
      {"challenge":"AQID","timeout":300000,"rpId":"example.com","userVerification":"required",
       "allowCredentials":[{"type":"public-key","id":"BAU"}]}
      """#
    let question = try PasskeyQuestion(options: Array(options.utf8))
    #expect(question.domain == "example.com")
    #expect(question.challenge == [1, 2, 3])
    #expect(question.allowed == [[4, 5]])
    for bad in ["", "{}", #"{"challenge":"*","rpId":"a"}"#, #"{"challenge":"AQID"}"#] {
      #expect(throws: SessionError.self) { try PasskeyQuestion(options: Array(bad.utf8)) }
    }
  }

  @Test func `answers as browsers do`() throws {
    let answer = PasskeyAnswer(
      id: [1], clientData: Array("{}".utf8), authenticatorData: [2, 255], signature: [3], userHandle: [4])
    let read = try #require(try JSONSerialization.jsonObject(with: Data(answer.json)) as? [String: Any])
    #expect(read["type"] as? String == "public-key")
    #expect(read["id"] as? String == "AQ" && read["rawId"] as? String == "AQ")
    let response = try #require(read["response"] as? [String: String])
    #expect(
      response == ["clientDataJSON": "e30", "authenticatorData": "Av8", "signature": "Aw", "userHandle": "BA"])
  }
}
