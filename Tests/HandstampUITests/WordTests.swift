import Foundation
import Handstamp
import HandstampTesting
import HandstampUI
import Testing

@Suite struct `Words of the views` {
  @Test func `are there in English, each under a name of its own`() {
    #expect(Set(Word.allCases.map(\.rawValue)).count == Word.allCases.count)
    for word in Word.allCases {
      #expect(!word.english.isEmpty && word.text() == word.english)
      #expect(word.rawValue.utf8.allSatisfy { (97...122).contains($0) || $0 == 95 })
    }
  }

  @Test func `are all in the table that an app translates`() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
    let table = try String(
      contentsOf: root.appendingPathComponent("Examples/AppShell/Handstamp.strings"), encoding: .utf8)
    for word in Word.allCases { #expect(table.contains("\"\(word.rawValue)\" = \"\(word.english)\";")) }
    #expect(table.split(separator: "\n").count == Word.allCases.count + 1)
  }

  @Test func `take in a value`() {
    #expect(Word.errorUnreachableFor.text("7") == "The server is busy. Try again in 7 seconds.")
    #expect(Word.signIn.text("7") == "Sign In")
  }

  @Test(arguments: [
    (Duration.seconds(-5), "1"), (.zero, "1"), (.milliseconds(1), "1"), (.milliseconds(1001), "2"), (.seconds(2), "2"),
    (.seconds(Int64.max), "86400"),
  ])
  func `name whole seconds`(delay: Duration, text: String) {
    #expect(Wording(SessionError.unreachable(retryAfter: delay)) == Wording(.errorUnreachableFor, text))
    #expect(Wording(SessionError.presence(.lockedOut(retryAfter: delay))) == Wording(.errorPresenceLockedOut, text))
  }

  @Test(arguments: [
    ("link_invalid", "link invalid"), ("<script>", "?"), (String(repeating: "x", count: 41), "?"), ("Ünïcode", "?"),
  ])
  func `show a server's code where there is no better word, and nothing else of it`(code: String, shown: String) {
    #expect(Wording(SessionError.refused(code: code, detail: "secret")) == Wording(.errorRefused, shown))
  }

  @Test func `say nothing of what somebody cancelled`() {
    #expect(Wording(SessionError.cancelled) == nil)
    #expect(Wording(SessionError.presence(.cancelled)) == nil)
    #expect(Wording(EndReason.signedOut) == nil)
  }

  @Test func `of a nonce for Apple are what RFC 7636's appendix B is for another verifier`() {
    // SHA-256 of "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" is given there, in base64url.
    let bytes = Data(base64Encoded: "dBjftJeZ4CVP+mB92K27uhbUJU1p1r/wW1gFWFOEjXk=").map { Array($0) } ?? []
    let nonce = AppleNonce(bytes: bytes)
    #expect(nonce.raw == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    let hash = Data(base64Encoded: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM=") ?? Data()
    #expect(nonce.hash == hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
  }
}
