import HandstampCore
import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A string from bytes` {
  @Test(arguments: ["", "Ada", "Zoë 🏝", "\u{FFFD}", "a\0b"])
  func `decodes UTF-8`(_ text: String) {
    #expect(String(utf8Bytes: Array(text.utf8)) == text)
  }

  @Test(arguments: [[0xFF], [0x61, 0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x8F]] as [[UInt8]])
  func `is nil for invalid UTF-8`(_ bytes: [UInt8]) {
    #expect(String(utf8Bytes: bytes) == nil)
  }
}
