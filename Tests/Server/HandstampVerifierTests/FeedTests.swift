#if Programs
import HandstampSupport
import Testing

@testable import HandstampVerifier

@Suite(.timeLimit(.minutes(10))) struct `The feed's parser` {
  private func events(_ parts: [[UInt8]]) throws -> [FeedEvent] {
    var parser = FeedParser()
    var events: [FeedEvent] = []
    for part in parts { try parser.parse(part) { event throws(FeedError) in events.append(event) } }
    return events
  }

  private let text =
    "event: a\nid: 1\ndata: x\n\n: comment\n\ndata:y\r\ndata: z\r\n\r\nid:2\n\nretry: 5\nevent: b\ndata:\n\n"
  private let expected = [
    FeedEvent(name: "a", id: "1", data: Array("x".utf8)), FeedEvent(name: "", id: nil, data: Array("y\nz".utf8)),
    FeedEvent(name: "", id: "2", data: []), FeedEvent(name: "b", id: nil, data: []),
  ]

  @Test func `reads events that are split anywhere`() throws {
    let bytes = Array(text.utf8)
    #expect(try events([bytes]) == expected)
    #expect(try events(bytes.map { [$0] }) == expected)
    for place in bytes.indices { #expect(try events([Array(bytes[..<place]), Array(bytes[place...])]) == expected) }
  }

  @Test func `refuses an event that is too large, and drops none`() throws {
    let most = FeedParser.longest - "data:".utf8.count
    #expect(try events([Array("data:".utf8) + Array(repeating: 120, count: most) + [10, 10]]).count == 1)
    #expect(throws: FeedError.notValid("an event is too large")) {
      try events([Array("data:".utf8) + Array(repeating: 120, count: most + 1) + [10, 10]])
    }
    // In many lines, and in a line without an end.
    let line = Array("data:".utf8) + Array(repeating: 120, count: 1000) + [10]
    #expect(throws: FeedError.self) { try events(Array(repeating: line, count: 300)) }
    #expect(throws: FeedError.self) { try events(Array(repeating: Array(repeating: 58, count: 1000), count: 300)) }
    // Comments are not kept, however many there are.
    #expect(try events(Array(repeating: Array(": beat\n".utf8), count: 100_000)).isEmpty)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The state of a feed` {
  private func feed(capacity: Int = 100) -> RevocationFeed {
    RevocationFeed(capacity: capacity, silence: .seconds(10))
  }
  private func event(_ name: String, _ data: String, id: String? = nil) -> FeedEvent {
    FeedEvent(name: name, id: id, data: Array(data.utf8))
  }

  @Test func `is incomplete until the server has confirmed it, whatever it has sent`() throws {
    var feed = feed()
    feed.connected()
    try feed.take(event("revocations", #"{"sessions":{"s":200}}"#), at: .seconds(5), leavingOutBefore: 0)
    #expect(feed.standing(at: .seconds(5)) == .incomplete)
    #expect(feed.list.contains("s"))
    try feed.take(event("verification", #"{"at_ms":900000}"#), at: .seconds(6), leavingOutBefore: 0)
    #expect(feed.standing(at: .seconds(6)) == .live)
    #expect(feed.standing(at: .seconds(16)) == .live)
    #expect(feed.standing(at: .seconds(16) + .nanoseconds(1)) == .lost(since: .seconds(6)))
  }

  @Test func `counts a word that waited from when it was said`() throws {
    var feed = feed()
    feed.connected()
    try feed.take(event("verification", #"{"at_ms":1000000}"#), at: .seconds(10), leavingOutBefore: 0)
    // Said 2 s later, read a minute later: the process was stopped.
    try feed.take(event("verification", #"{"at_ms":1002000}"#), at: .seconds(70), leavingOutBefore: 0)
    #expect(feed.standing(at: .seconds(70)) == .lost(since: .seconds(12)))
    try feed.take(event("verification", #"{"at_ms":1060000}"#), at: .seconds(70), leavingOutBefore: 0)
    #expect(feed.standing(at: .seconds(70)) == .live)
  }

  @Test func `continues only behind what it has understood`() throws {
    var feed = feed()
    feed.connected()
    try feed.take(event("revocations", #"{"sessions":{"s":200}}"#, id: "5-x"), at: .zero, leavingOutBefore: 0)
    #expect(feed.cursor == "5-x")
    for (name, data) in [
      ("revocations", ""), ("revocations", "{}"), ("revocations", #"{"sessions":[]}"#),
      ("revocations", #"{"sessions":{"t":"soon"}}"#), ("revocations", #"{"sessions":{"t":1},"sessions":{}}"#),
      ("verification", "{}"), ("verification", #"{"at_ms":"now"}"#),
    ] {
      #expect(throws: FeedError.self, "\(data)") {
        try feed.take(event(name, data, id: "6-y"), at: .zero, leavingOutBefore: 0)
      }
    }
    #expect(feed.cursor == "5-x")
    try feed.take(event("of a later version", "?", id: "7-z"), at: .zero, leavingOutBefore: 0)
    #expect(feed.cursor == "7-z")
    feed.restart()
    #expect(feed.cursor == nil)
    #expect(feed.list.contains("s"))
  }

  @Test func `leaves out sessions whose tokens have expired, and no others`() throws {
    var feed = feed()
    try feed.take(
      event("revocations", #"{"sessions":{"a":99,"b":100}}"#), at: .zero, leavingOutBefore: 100)
    #expect(!feed.list.contains("a"))
    #expect(feed.list.contains("b"))
  }

  @Test func `is not complete beyond its capacity`() throws {
    var feed = feed(capacity: 2)
    #expect(throws: FeedError.full) {
      try feed.take(
        event("revocations", #"{"sessions":{"a":9,"b":9,"c":9}}"#, id: "3-x"), at: .zero, leavingOutBefore: 0)
    }
    #expect(feed.cursor == nil)
    #expect(feed.standing(at: .zero) == .incomplete)
  }
}
#endif
