#if Programs
import HandstampTesting
import Testing

@testable import Handstamp
@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `Messages on a stream` {
  private func lines(_ text: String, cut: Int, limit: Int = 100) -> [LineSplitter.Line] {
    var splitter = LineSplitter(limit: limit)
    var lines: [LineSplitter.Line] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      lines += splitter.lines(in: Array(rest.prefix(cut)))
      rest = rest.dropFirst(cut)
    }
    return lines + [splitter.finished()].compactMap { $0 }
  }

  @Test(arguments: [1, 2, 3, 7, 1000])
  func `are split at line feeds, wherever the bytes are cut`(cut: Int) {
    let wanted = ["{\"a\":1}", "[2]", "{}"].map { LineSplitter.Line.message(Array($0.utf8)) }
    #expect(lines("{\"a\":1}\n\n \r\n[2]\r\n{}", cut: cut) == wanted)
  }

  @Test(arguments: [1, 5, 1000])
  func `have a limit, and the next one is read`(cut: Int) {
    #expect(lines("1234\n12345\n6\n", cut: cut, limit: 4) == [.message(Array("1234".utf8)), .tooLong, .message([54])])
  }

  @Test func `become one line without a change of meaning`() {
    #expect(LineSplitter.line(of: Array("{\r\n\"a\": 1\n}".utf8)) == Array("{  \"a\": 1 }\n".utf8))
  }

  @Test func `of the server are found in events, with the place to resume from`() {
    var (parser, position) = (EventStreamParser(), StreamPosition())
    let text = "id: 1\ndata:\n\nid: 2\nretry: 400\ndata: {\"a\":\ndata: 1}\n\nevent: ping\ndata: x\n\n"
    let messages = parser.items(in: Array(text.utf8)).compactMap { position.take($0) }
    #expect(messages == [Array("{\"a\":\n1}".utf8)])
    #expect(position.id == "2" && position.pause(entropy: .max) == .milliseconds(400))
  }

  @Test func `are not awaited for ever from a server that is gone`() {
    var position = StreamPosition()
    let pauses = (0..<6).map { _ in position.pause(entropy: .max) }
    #expect(pauses.dropLast().allSatisfy { $0 != nil } && pauses.last == .some(nil))
    position.connected()
    #expect(position.pause(entropy: 0) == .seconds(1), "nor at once from one that hangs up")
    for item in ["id: 3\nretry: 0\n\n", "data: 1\n\n"] {
      while position.pause(entropy: 0) != nil {}
      var parser = EventStreamParser()
      for item in parser.items(in: Array(item.utf8)) { _ = position.take(item) }
      #expect((position.pause(entropy: 0) != nil) == item.hasPrefix("data"), "only a message begins the count anew")
    }
    #expect(position.pause(entropy: 0).map { $0 >= .milliseconds(100) } == true, "retry: 0 is no loop without a pause")
  }

  @Test func `that are too large for an event are counted`() {
    var parser = EventStreamParser(limit: 20)
    let text = "data: 1\n\ndata: \(String(repeating: "x", count: 30))\n\ndata: 2\n\n"
    let items = parser.items(in: Array(text.utf8))
    #expect(items == ["1", "2"].map { .event(ServerSentEvent(data: $0), hasOwnID: false) })
    #expect(parser.droppedEvents == 1)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The facts of a JSON-RPC message` {
  @Test func `are its ID, its method and what it names`() throws {
    let text = """
      {"jsonrpc":"2.0","id":"a\\"b","method":"tools/call","params":{"name":"add","arguments":{"name":1},
      "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
      """
    let facts = try #require(MessageFacts.all(in: Array(text.utf8))?.first)
    #expect(facts.kind == .request(.text("a\"b")) && facts.method == "tools/call" && facts.name == "add")
    #expect(facts.version == "2026-07-28")
    #expect(RequestID.text("a\"b").json == #""a\"b""# && RequestID.number(-7).json == "-7")
  }

  @Test(arguments: [
    (#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#, MessageFacts.Kind.response(.number(1))),
    (#"{"id":null,"error":{"code":-1,"message":"m"}}"#, .response(nil)),
    (#"{"method":"notifications/progress","params":[1]}"#, .notification),
    (#"{"id":0,"method":"ping"}"#, .request(.number(0))),
  ])
  func `are of one kind`(text: String, kind: MessageFacts.Kind) {
    #expect(MessageFacts.all(in: Array(text.utf8))?.map(\.kind) == [kind])
  }

  @Test func `are those of each part of a batch`() {
    let batch = ClientMessage(Array(#" [{"id":1,"method":"a"},{"method":"b"},{"id":"2","method":"c"}]"#.utf8))
    #expect(batch?.awaited == [.number(1), .text("2")] && batch?.single == nil)
  }

  @Test(arguments: ["", "x", "{}", "[]", "1", #"{"id":1}"#, #"{"id":{},"method":"a"}"#, #"{"method":"a""#, "[1]"])
  func `are not found in anything else`(text: String) {
    #expect(MessageFacts.all(in: Array(text.utf8)) == nil)
  }

  @Test func `name the request that is cancelled`() {
    let text = #"{"method":"notifications/cancelled","params":{"requestId":4}}"#
    #expect(ClientMessage(Array(text.utf8))?.single?.cancels == .number(4))
  }

  @Test func `say whether a repeat does no harm`() {
    #expect(ClientMessage(Array(#"{"id":1,"method":"tools/list"}"#.utf8))?.isRepeatable == true)
    #expect(ClientMessage(Array(#"{"id":1,"method":"tools/call"}"#.utf8))?.isRepeatable == false)
    #expect(ClientMessage(Array(#"{"id":1,"result":{}}"#.utf8))?.isRepeatable == false)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A session with a remote server` {
  private static func message(_ text: String) throws -> ClientMessage {
    try #require(ClientMessage(Array(text.utf8)))
  }

  private static func names(_ fields: [HeaderField]) -> [String: String] {
    Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
  }

  private static func opened() throws -> RemoteSession {
    var session = RemoteSession()
    session.note(try message(#"{"id":1,"method":"initialize"}"#))
    session.began([HeaderField("mcp-session-id", "s1")], in: session.generation)
    session.agreed(on: "2025-11-25", in: session.generation)
    session.note(try message(#"{"method":"notifications/initialized"}"#))
    return session
  }

  @Test func `adds ID and version to every message after the first`() throws {
    let session = try Self.opened()
    let fields = Self.names(session.fields(for: try Self.message(#"{"id":2,"method":"ping"}"#)))
    #expect(fields["Mcp-Session-Id"] == "s1" && fields["MCP-Protocol-Version"] == "2025-11-25")
    let first = Self.names(session.fields(for: try Self.message(#"{"id":3,"method":"initialize"}"#)))
    #expect(first["Mcp-Session-Id"] == nil && first["MCP-Protocol-Version"] == nil)
    #expect(Self.names(session.streamFields(after: "e7"))["Last-Event-ID"] == "e7")
  }

  @Test func `is not part of a message that stands alone`() throws {
    let meta = #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#
    let text = #"{"id":2,"method":"resources/read","params":{"uri":"file:///ä",\#(meta)}}"#
    let fields = Self.names(try Self.opened().fields(for: try Self.message(text)))
    #expect(fields["Mcp-Session-Id"] == nil && fields["MCP-Protocol-Version"] == "2026-07-28")
    #expect(fields["Mcp-Method"] == "resources/read" && fields["Mcp-Name"] == "=?base64?ZmlsZTovLy/DpA==?=")
  }

  @Test func `ignores what a previous one is told late`() throws {
    var session = try Self.opened()
    let previous = session.generation
    session.forget()
    #expect(session.id == nil && session.canReopen && session.isLost)
    session.began([HeaderField("Mcp-Session-Id", "late")], in: previous)
    session.agreed(on: "late", in: previous)
    #expect(session.id == nil && session.version == nil && session.isLost)
    session.began([HeaderField("Mcp-Session-Id", "s2")], in: session.generation)
    #expect(session.id == "s2" && !session.isLost)
  }

  @Test func `has no ID that a header field cannot have`() throws {
    var session = try Self.opened()
    session.began([HeaderField("Mcp-Session-Id", "a b")], in: session.generation)
    #expect(session.id == nil)
  }
}
#endif
