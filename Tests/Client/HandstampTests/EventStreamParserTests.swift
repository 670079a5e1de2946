import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) struct `A parser of server-sent events` {
  private func read(_ text: String, cut: Int = .max) -> [ServerSentEvent] { read(Array(text.utf8), cut: cut) }

  private func read(_ bytes: [UInt8], cut: Int = .max) -> [ServerSentEvent] {
    var parser = EventStreamParser()
    var events: [ServerSentEvent] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      events += parser.items(in: rest.prefix(cut)).compactMap {
        if case .event(let event, _) = $0 { event } else { nil }
      }
      rest = rest.dropFirst(cut)
    }
    return events
  }

  @Test(arguments: [1, 2, 3, 7, 1000])
  func `parses events split anywhere, with any line ending`(cut: Int) {
    let text =
      "\u{FEFF}id: 1\nevent: a\ndata: one\ndata:two\n\n: note\r\nid:2\r\ndata:  three\r\n\r\ndata\r\rid\ndata: x\n\n"
    #expect(
      read(text, cut: cut) == [
        ServerSentEvent(id: "1", name: "a", data: "one\ntwo"), ServerSentEvent(id: "2", data: " three"),
        ServerSentEvent(id: "2", data: ""), ServerSentEvent(id: "", data: "x"),
      ])
  }

  @Test func `drops one byte order mark at the start only`() {
    #expect(read("\u{FEFF}data: a\n\n").map(\.data) == ["a"])
    #expect(read("\u{FEFF}\u{FEFF}data: a\n\n").isEmpty)
    #expect(read("data: a\n\n\u{FEFF}data: b\n\n").map(\.data) == ["a"])
    // A partial byte order mark makes an unknown field.
    #expect(read([0xEF, 0xBB] + Array("data: a\n\ndata: b\n\n".utf8)).map(\.data) == ["b"])
    #expect(read([0xEF, 0x0A] + Array("data: a\n\n".utf8)).map(\.data) == ["a"])
  }

  @Test func `does not count comments towards an event's limit`() {
    let comment = ":" + String(repeating: "x", count: 3000) + "\n"
    let comments = String(repeating: comment, count: 400)
    #expect(read("data: a\n" + comments + "data: b\n\n").map(\.data) == ["a\nb"])
  }

  @Test func `drops an overlong event completely, and nothing else`() {
    let limit = EventStreamParser.longestEvent
    let most = String(repeating: "x", count: limit - 6)
    #expect(read("data: \(most)\n\n").map(\.data.utf8.count) == [limit - 6])
    #expect(read("data: \(most)y\n\ndata: b\n\n").map(\.data) == ["b"])
    // The rest of that event is not an event of its own, and its id counts.
    let events = read("data: \(most)y\ndata: c\nid: 7\ndata: d\n\ndata: e\n\n")
    #expect(events == [ServerSentEvent(id: "7", data: "e")])
  }

  @Test func `reports ids without events, and the retry delay`() {
    var parser = EventStreamParser()
    let text = "retry: 2500\nretry: x\nretry:\nid: 4\n\ndata: a\n\nid: 5\ndata: b\n\nid: 6\u{0}\ndata: c\n\n"
    #expect(
      parser.items(in: Array(text.utf8)) == [
        .retry(.milliseconds(2500)), .id("4"), .event(ServerSentEvent(id: "4", data: "a"), hasOwnID: false),
        .event(ServerSentEvent(id: "5", data: "b"), hasOwnID: true),
        .event(ServerSentEvent(id: "5", data: "c"), hasOwnID: false),
      ])
  }

  @Test(arguments: 0..<50 as Range<UInt64>)
  func `survives garbage, however it is split`(seed: UInt64) {
    var random = SplitMix64(state: seed)
    let alphabet = Array("data:id: \n\r\u{FEFF}event:retry:9\u{0}".utf8) + [0xFF]
    let bytes = (0..<600).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }
    let whole = read(bytes)
    for cut in 1...5 { #expect(read(bytes, cut: cut) == whole) }
  }
}
