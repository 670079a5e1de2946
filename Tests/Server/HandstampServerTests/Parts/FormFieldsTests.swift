#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A form` {
  @Test func `is decoded with its escapes`() throws {
    let form = try FormFields("a=1+2&b=%C3%A9%26&empty=&flag&c=x=y".utf8)
    #expect(form["a"] == "1 2")
    #expect(form["b"] == "é&")
    #expect(form["c"] == "x=y")
    // RFC 6749 section 3.2: a parameter without a value counts as omitted.
    #expect(form["empty"] == nil)
    #expect(form["flag"] == nil)
    #expect(form["other"] == nil)
    #expect("\(form)".contains("\"a\"") && !"\(form)".contains("1 2"))
  }

  @Test(arguments: ["a=1&a=2", "a=1&%61=1", "a&a"])
  func `with a repeated name is refused`(_ text: String) {
    #expect(throws: OAuthError.parameterRepeated) { try FormFields(text.utf8) }
  }

  @Test func `may name several resources`() throws {
    let form = try FormFields("resource=a&b=1&resource=&resource=%63".utf8)
    #expect(form.resources == ["a", "c"])
    #expect(try FormFields("b=1".utf8).resources == [])
  }

  @Test(arguments: ["a=%", "a=%4", "a=%zz", "a=%FF", "%=1"])
  func `with an invalid escape is refused`(_ text: String) {
    #expect(throws: OAuthError.formMalformed) { try FormFields(text.utf8) }
  }

  @Test func `with thousands of fields is refused`() {
    let text = (0..<5000).map { "f\($0)=1" }.joined(separator: "&")
    #expect(throws: OAuthError.formMalformed) { try FormFields(text.utf8) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `JSON text` {
  @Test func `escapes all special characters`() {
    var json = JSONText()
    json.add("a", "\"\\\n\u{0}\u{1f}é")
    json.add("b", 7)
    json.add("c", [JSONText(), JSONText()])
    #expect(String(decoding: json.finished, as: UTF8.self) == #"{"a":"\"\\\u000a\u0000\u001fé","b":7,"c":[{},{}]}"#)
  }
}

/// Browsers keep it, sealed, on their way to a provider and back, also while a newer version takes the place of this one.
@Suite(.timeLimit(.minutes(10))) struct `An errand at a provider` {
  @Test func `has one text, and is not read without a purpose and a page`() throws {
    let text = "for=sign-in&next=%2Fa&session=s&since=1800000000000"
    let errand = ProviderErrand(
      purpose: .signIn, next: "/a", session: "s", freshSince: UnixTime(seconds: 1_800_000_000))
    #expect(PayloadCoding.text(errand) == text)
    #expect(PayloadCoding.value(ProviderErrand.self, text) == errand)
    #expect(PayloadCoding.value(ProviderErrand.self, "for=sign-in&next=%2Fa") != nil)
    for rest in ["for=sign-in", "next=%2Fa"] { #expect(PayloadCoding.value(ProviderErrand.self, rest) == nil) }
  }
}
#endif
