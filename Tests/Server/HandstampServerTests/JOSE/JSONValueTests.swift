#if Programs
import Foundation
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Signed JSON` {
  private func read(_ text: String) -> JSONValue? { JSONValue(Array(text.utf8)) }

  @Test func `is read as its value`() {
    #expect(
      read(#" {"a" : [1, -0, 2.5, 1e2, true, false, null], "b":{}, "":"" } "#)
        == .object([
          "a": .array([.integer(1), .integer(0), .number(2.5), .number(100), .bool(true), .bool(false), .null]),
          "b": .object([:]), "": .string(""),
        ]))
    #expect(read(#""a\"\\\/\b\f\n\r\tA\u00e9\ud83d\ude00é😀""#) == .string("a\"\\/\u{8}\u{C}\n\r\tAé😀é😀"))
    #expect(read("9223372036854775807") == .integer(.max))
    #expect(read("9223372036854775808") == .number(9_223_372_036_854_775_808))
    #expect(read("[]") == .array([]))
  }

  @Test(arguments: [
    "", " ", "{", "}", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "01", "-",
    "-01", "1.",
    ".5", "1e", "1e+", "+1", "0x1", "NaN", "Infinity", "1e999", "tru", "nulll", "\"", "\"a", "\"\\\"", "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12G4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\n\"", "\"\u{0}\"", "1 2", "{} {}", "[1]x",
    "//", "\u{FEFF}1",
  ])
  func `that is not JSON is refused`(_ text: String) {
    #expect(read(text) == nil)
    #expect(read("[" + text + "]") == nil || text.allSatisfy(\.isWhitespace))
  }

  @Test func `that parsers could read differently is refused`() {
    #expect(read(#"{"a":1,"a":1}"#) == nil)
    // The same name, once escaped.
    #expect(read(#"{"a":1,"\u0061":2}"#) == nil)
    #expect(JSONValue([0x22, 0xFF, 0x22]) == nil)
    #expect(JSONValue([0x22, 0xC0, 0x80, 0x22]) == nil)
    // A surrogate in UTF-8.
    #expect(JSONValue([0x22, 0xED, 0xA0, 0x80, 0x22]) == nil)
    // UTF-16.
    #expect(JSONValue([0, 0x31]) == nil)
  }

  @Test func `is nested at most 16 deep`() {
    let deep = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
    #expect(read(deep(16)) != nil)
    #expect(read(deep(17)) == nil)
    #expect(read(String(repeating: "[{\"a\":", count: 100_000)) == nil)
  }

  @Test func `has whole numbers where they are expected`() {
    #expect(read("12")?.integer == 12)
    #expect(read("12.0")?.integer == 12)
    #expect(read("12.5")?.integer == nil)
    #expect(read("1e300")?.integer == nil)
    #expect(read("12.5")?.number == 12.5)
    #expect(read("\"12\"")?.integer == nil)
  }

  /// Mutations of valid text: whatever is accepted has the value that Foundation reads.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func `means the same to Foundation, if it is accepted`(_ seed: UInt64) throws {
    var random = SplitMix64(state: seed)
    let text = #"{"alg":"ES256","n":[1,-2.5e1,true,null],"typ":"a\u0074+jwt","crit":{"x":""}}"#
    for round in 0..<50 {
      var bytes = Array(text.utf8)
      for _ in 0..<min(round, 1 + Int(random.next() % 3)) {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[place] = Array(#"{}[]",:\e1.-0nt u"#.utf8)[Int(random.next() % 17)]
        case 1: bytes.remove(at: place)
        default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
        }
      }
      guard let value = JSONValue(bytes) else {
        #expect(round > 0)
        continue
      }
      let other = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
      #expect(Self.isEqual(value, other), "\(String(decoding: bytes, as: UTF8.self))")
    }
  }

  private static func isEqual(_ value: JSONValue, _ other: Any) -> Bool {
    switch value {
    case .null: other is NSNull
    case .bool(let bool): other as? Bool == bool
    case .integer(let number): other as? Int64 == number
    case .number(let number): other as? Double == number
    case .string(let text): (other as? String).map { Array($0.utf8) == Array(text.utf8) } ?? false
    case .array(let values):
      (other as? [Any]).map { $0.count == values.count && zip(values, $0).allSatisfy(isEqual) } ?? false
    case .object(let members):
      (other as? [String: Any]).map { others in
        others.count == members.count
          && members.allSatisfy { name, value in others[name].map { isEqual(value, $0) } ?? false }
      } ?? false
    }
  }
}
#endif
