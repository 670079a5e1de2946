import Foundation
import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A JSON string` {
  /// Every character that is escaped, and some that are not.
  static let text = "\u{0}\t\n\u{1f} \"\\/\u{7f}é\u{202e}\u{e000}\u{e0001}𝄞"

  @Test func `escapes quotation marks, backslashes and control characters alone`() {
    #expect(
      JSONString.quoted(Self.text)
        == "\"\\u0000\\u0009\\u000a\\u001f \\\"\\\\/\\u007fé\u{202e}\u{e000}\u{e0001}𝄞\"")
  }

  @Test func `that is shown has no character that a terminal would not display`() {
    let shown = Self.text.unicodeScalars.flatMap { JSONString.shown($0) }
    #expect(
      String(decoding: shown, as: UTF8.self)
        == #"\u0000\u0009\u000a\u001f \"\\/\u007fé\u202e\ue000\udb40\udc01𝄞"#)
  }

  @Test func `stands for its text`() throws {
    let shown = Self.text.unicodeScalars.flatMap { JSONString.shown($0) }
    let array = "[\(JSONString.quoted(Self.text)),\"\(String(decoding: shown, as: UTF8.self))\"]"
    #expect(try JSONDecoder().decode([String].self, from: Data(array.utf8)) == [Self.text, Self.text])
  }
}
