import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Text that people type` {
  @Test(arguments: [
    ("123456", "123456"), (" 123\u{A0}456\u{2009}\n", "123456"), ("123-456", "123456"), ("123\u{2013}456.", "123456"),
    ("１２３４５６", "123456"), ("١٢٣٤٥٦", "123456"), ("१२३४५६", "123456"), ("\u{200B}12\u{FEFF}3456", "123456"),
    ("your code: 123456", "123456"), ("", ""), ("abc", ""), ("\u{0}²½", ""),
  ])
  func `has digits by their value, and nothing else that counts`(typed: String, digits: String) {
    #expect(typed.typed(in: "0123456789") == digits)
  }

  @Test func `has letters in either case and width`() {
    #expect("bcdＦ–ｇhjk. aeiou".typed(in: "BCDFGHJKLMNPQRSTVWXZ") == "BCDFGHJK")
    #expect(String(repeating: "1", count: 5000).typed(in: "1").count == 1024)
  }

  @Test(
    arguments: [
      ("BCDF-GHJK", "BCDF-GHJK"), ("https://id.example.org/device?user_code=BCDF-GHJK", "BCDF-GHJK"),
      (" <HTTPS://ID.example.org:443/device?a=b&user_code=BCDF%2DGHJK#top>\n", "BCDF-GHJK"),
      ("open \u{200B}https://id.example.org/device?user_code=B now", "B"),
      ("https://id.example.org/device", nil), ("https://id.example.org.evil.example/device?user_code=B", nil),
      ("http://id.example.org/device?user_code=B", nil),
      ("https://evil.example/?https://id.example.org/?user_code=B", nil),
      ("https://id.example.org@evil.example/?user_code=B", nil), ("javascript://id.example.org/?user_code=B", nil),
      ("https://id.example.org/device?user_code=%F", nil),
    ] as [(String, String?)])
  func `may be a link, if it is one of this issuer`(text: String, code: String?) {
    #expect(text.pasted("user_code", at: "https://id.example.org") == code)
  }

  @Test func `is a link below an issuer with a path, and not beside it`() {
    for (path, isGood) in [("/auth?a=1", true), ("/auth/b?a=1", true), ("/author?a=1", false), ("/?a=1", false)] {
      #expect(("https://a.example" + path).pasted("a", at: "https://a.example/auth") == (isGood ? "1" : nil), "\(path)")
    }
  }

  @Test(arguments: [
    ("Ada", true), (" A ", true), ("❤️", true), ("", false), (" \u{A0}\u{3000}", false), ("\u{3164}", false),
    ("\u{2800}\u{115F}", false), ("\u{200D}\u{FE0F}", false),
  ])
  func `is a name only if something of it is seen`(name: String, isShown: Bool) {
    #expect(name.isShown == isShown && name.isDisplayName == isShown)
  }

  /// RFC 3492 section 7.1, and names that browsers know.
  @Test(arguments: [
    ("bücher", "xn--bcher-kva"), ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"),
    ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"), ("ليهمابتكلموشعربي؟", "xn--egbpdaj6bu4bxfgehfvwxn"),
    ("παράδειγμα", "xn--hxajbheg2az3al"), ("straße", "xn--strae-oqa"), ("例え", "xn--r8jz45g"), ("example", "example"),
    ("xn--bcher-kva", "xn--bcher-kva"), ("", ""),
  ])
  func `has an A-label for each label of a domain`(label: String, ascii: String) {
    #expect(Punycode.label(label) == ascii)
  }
}
