import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A byte` {
  @Test(arguments: UInt8.min ... .max)
  func `is in the classes of its ASCII character`(byte: UInt8) {
    let scalar = Unicode.Scalar(byte)
    let (isDigit, isSmall) = (("0"..."9").contains(scalar), ("a"..."z").contains(scalar))
    let isLetter = isSmall || ("A"..."Z").contains(scalar)
    #expect(byte.isDigit == isDigit && byte.isLowercaseLetter == isSmall && byte.isLetter == isLetter)
    #expect(byte.isAlphanumeric == (isLetter || isDigit))
    #expect(byte.isUnreserved == (isLetter || isDigit || "-._~".utf8.contains(byte)))
  }

  @Test func `is two hexadecimal digits, in either case`() {
    #expect(Hexadecimal.text([0, 0x9A, 0xFF]) == "009aff")
    #expect(Hexadecimal.bytes("009aFF".utf8) == [0, 0x9A, 0xFF])
    #expect(Hexadecimal.bytes("".utf8) == [])
  }

  @Test(arguments: ["0", "0g", "+1", " 1", "00 1", "0x00"])
  func `is nothing else`(text: String) {
    #expect(Hexadecimal.bytes(text.utf8) == nil)
  }

  @Test func `is one of as many random ones as were asked for`() {
    for count in 0...33 { #expect(randomBytes(count).count == count) }
    #expect(randomBytes(16) != randomBytes(16))
  }
}
