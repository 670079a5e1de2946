import HandstampCore
import Testing

@testable import HandstampCookies

@Suite(.timeLimit(.minutes(10))) struct `Windows-1252` {
  @Test func `round-trips every byte`() {
    let all = [UInt8](0...255)
    #expect(Windows1252.encode(Windows1252.decode(all)) == all)
    #expect(Windows1252.decode([0x80, 0x93, 0x94, 0xE9, 0x81]) == "€“”é\u{81}")
  }

  @Test func `writes unsupported characters as references`() {
    #expect(Windows1252.encode("naïve ☃ 👍") == [110, 97, 0xEF, 118, 101, 32] + Array("&#9731; &#128077;".utf8))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A web form` {
  private func body(_ form: WebForm) -> String {
    String(decoding: form.request(to: "https://h/").body, as: UTF8.self)
  }

  @Test func `is encoded as browsers encode it`() {
    let form = WebForm([.init("user name", "Zoë & co"), .init("snow", "☃")], charset: .windows1252)
    #expect(body(form) == "user+name=Zo%EB+%26+co&snow=%26%239731%3B")
    #expect(body(WebForm([.init("q", "é*-._~")])) == "q=%C3%A9*-._%7E")
  }

  @Test func `in multipart encoding cannot be broken by a name`() {
    let form = WebForm([.init("a\"\r\nX: y", "v")], encoding: .multipart, charset: .windows1252)
    let request = form.request(to: "https://h/")
    let text = String(decoding: request.body, as: UTF8.self)
    #expect(text.contains("name=\"a%22%0D%0AX: y\"\r\n\r\nv\r\n--handstamp-"))
    let boundary = request.headers.first?.value.split(separator: "=").last.map(String.init) ?? "?"
    #expect(text.hasPrefix("--\(boundary)\r\n") && text.hasSuffix("--\(boundary)--\r\n"))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A reminder that the cookie expires` {
  private let end = noon.advanced(by: .seconds(30 * 86_400))
  private func day(_ number: Int64) -> UnixTime { noon.advanced(by: .seconds(number * 86_400)) }

  @Test func `appears in the last week, every other day, and not after expiry`() {
    var reminder = ExpiryReminder()
    var shown: [Int64] = []
    for number in 0...31 as ClosedRange<Int64> where reminder.due(expiry: end, at: day(number)) != nil {
      shown.append(number)
    }
    #expect(shown == [24, 26, 28])
  }

  @Test func `appears on the first tick of the last week and not before`() {
    var reminder = ExpiryReminder()
    let edge = day(23)
    let before = reminder.due(expiry: end, at: edge)
    let after = reminder.due(expiry: end, at: edge.advanced(by: .milliseconds(1)))
    let endless = reminder.due(expiry: nil, at: edge)
    #expect(before == nil)
    #expect(after != nil)
    #expect(endless == nil)
  }

  @Test func `is not silenced by a clock that is set back`() {
    var reminder = ExpiryReminder()
    _ = reminder.due(expiry: end, at: day(29))
    let shown = reminder.due(expiry: end, at: day(25))
    #expect(shown != nil)
  }
}
