import Foundation
import HandstampCore
import HandstampSupport
import HandstampUI
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The sheet for passkeys` {
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

  @Test func `gets what it needs for a new passkey, and answers as browsers do`() throws {
    let options = #"""
      {"challenge":"AQID","rp":{"id":"example.com","name":"Forum"},"timeout":300000,"attestation":"none",
       "user":{"id":"CQ","name":"ada@example.com","displayName":"Ada"},"pubKeyCredParams":[],
       "excludeCredentials":[{"type":"public-key","id":"BAU"}]}
      """#
    let question = try NewPasskeyQuestion(options: Array(options.utf8))
    #expect(question.domain == "example.com" && question.challenge == [1, 2, 3] && question.user == [9])
    #expect(question.userName == "ada@example.com" && question.excluded == [[4, 5]])
    for bad in ["", "{}", #"{"challenge":"AQID","rp":{"id":"a"}}"#] {
      #expect(throws: SessionError.self) { try NewPasskeyQuestion(options: Array(bad.utf8)) }
    }
    let answer = PasskeyAnswer(id: [1], clientData: Array("{}".utf8), attestation: [2, 255])
    let read = try #require(try JSONSerialization.jsonObject(with: Data(answer.json)) as? [String: Any])
    #expect(read["type"] as? String == "public-key")
    #expect(read["id"] as? String == "AQ" && read["rawId"] as? String == "AQ")
    #expect(read["response"] as? [String: String] == ["clientDataJSON": "e30", "attestationObject": "Av8"])
  }

  @Test func `reports the passkey that no account has`() {
    let options = Array(#"{"challenge":"AQID","rpId":"example.com"}"#.utf8)
    let answer = PasskeyAnswer(id: [1], clientData: [], authenticatorData: [], signature: [], userHandle: []).json
    #expect(PasskeySignal(unknownIn: answer, to: options) == .unknown(id: "AQ", domain: "example.com"))
    #expect(PasskeySignal(unknownIn: Array("{}".utf8), to: options) == nil)
    #expect(PasskeySignal(unknownIn: answer, to: Array("{}".utf8)) == nil)
  }
}
