import Foundation
import Handstamp
import HandstampTesting
import HandstampUI
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Words of the views` {
  @Test func `exist in English and German, each under a unique key`() {
    #expect(Set(Word.allCases.map(\.rawValue)).count == Word.allCases.count)
    for word in Word.allCases {
      #expect(!word.english.isEmpty && word.text == word.english)
      #expect(!word.german.isEmpty && word.german.contains("{0}") == word.english.contains("{0}"))
      #expect(word.rawValue.utf8.allSatisfy { (97...122).contains($0) || $0 == 95 })
    }
  }

  @Test func `are all in the app's translation table`() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("../..")
    let table = try String(
      contentsOf: root.appendingPathComponent("Examples/AppShell/Handstamp.strings"), encoding: .utf8)
    for word in Word.allCases { #expect(table.contains("\"\(word.rawValue)\" = \"\(word.english)\";")) }
    #expect(table.split(separator: "\n").count == Word.allCases.count + 1)
  }

  @Test func `insert a value`() {
    let wording = Wording(.errorUnreachableFor, "7")
    #expect(wording.text == "The server is busy. Try again in 7 seconds.")
    #expect(wording.text(in: "de-AT") == "Der Server ist ausgelastet. Versuchen Sie es in 7 Sekunden erneut.")
    #expect(Wording(.signIn, "7").text == "Sign In")
  }

  @Test(arguments: [("de", "Anmelden"), ("de_CH", "Anmelden"), ("en", "Sign In"), ("fr", "Sign In"), ("", "Sign In")])
  func `are in the language of the app, or in English`(language: String, text: String) {
    #expect(Word.signIn.text(in: language) == text)
  }

  @Test(arguments: [
    (Duration.seconds(-5), "1"), (.zero, "1"), (.milliseconds(1), "1"), (.milliseconds(1001), "2"), (.seconds(2), "2"),
    (.seconds(Int64.max), "86400"),
  ])
  func `use whole seconds`(delay: Duration, text: String) {
    let recovery = Recovery.retry(after: delay)
    #expect(
      Wording(SessionError.requestFailed(.network(.timedOut), retryAfter: delay))
        == Wording(.errorUnreachableFor, text, recovery: recovery))
    #expect(
      Wording(PresenceError.lockedOut(retryAfter: delay)) == Wording(.errorPresenceLockedOut, text, recovery: recovery))
  }

  @Test(arguments: [
    ("not_anonymous", "not anonymous"), ("<script>", "?"), (String(repeating: "x", count: 41), "?"), ("Ünïcode", "?"),
  ])
  func `show a server's code without a better word, and nothing else from it`(code: String, shown: String) {
    #expect(Wording(SessionError.refused(code: code, detail: "secret")) == Wording(.errorRefused, shown))
  }

  @Test(arguments: [
    (EndReason.idle, "Are you still there? You'll be signed out in 42 seconds."),
    (.expired, "Your session ends in 42 seconds."),
  ])
  func `say in how many seconds a session ends`(reason: EndReason, text: String) {
    let now = UnixTime(seconds: 1_800_000_000)
    let end = UpcomingEnd(reason: reason, at: now.advanced(by: .milliseconds(41_001)))
    #expect(Wording(end, at: now).text(in: "en") == text)
    // Never none, in the moment before the state changes.
    #expect(Wording(end, at: end.at.advanced(by: .seconds(1))).value == "1")
  }

  @Test func `name the provider where a session ended`() {
    let wording = Wording(EndReason.endedAtProvider("Google"))
    #expect(wording?.text(in: "en") == "You were signed out at Google. Please sign in again.")
    #expect(wording?.text(in: "de") == "Sie wurden bei Google abgemeldet. Bitte melden Sie sich erneut an.")
  }

  @Test func `do not mention cancellations`() {
    let cancellations: [any Error] = [
      SessionError.cancelled, SessionError.presence(.cancelled), APIError.session(.cancelled),
      APIError.network(.cancelled), TransportError.cancelled, RedirectError.cancelled, CancellationError(),
      URLError(.cancelled),
    ]
    for error in cancellations { #expect(Wording(error) == nil) }
    #expect(Wording(EndReason.signedOut) == nil)
  }

  @Test func `of a nonce for Apple match the example in RFC 7636, appendix B`() {
    // The appendix gives the SHA-256 of "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", in base64url.
    let bytes = Data(base64Encoded: "dBjftJeZ4CVP+mB92K27uhbUJU1p1r/wW1gFWFOEjXk=").map { Array($0) } ?? []
    let nonce = AppleNonce(bytes: bytes)
    #expect(nonce.raw == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    let hash = Data(base64Encoded: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM=") ?? Data()
    #expect(nonce.hash == hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
  }
}
