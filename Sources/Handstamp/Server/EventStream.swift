/// One server-sent event.
public struct ServerSentEvent: Sendable, Hashable {
  public var id: String?
  public var name: String
  public var data: String

  public init(id: String? = nil, name: String = "message", data: String) {
    self.id = id
    self.name = name
    self.data = data
  }
}

/// Reads server-sent events from bytes as they come (WHATWG HTML, section 9.2.6). Lines and events may be cut anywhere.
public struct EventStreamParser: Sendable {
  /// An event longer than this is dropped.
  public static let longestEvent = 1 << 20
  private var line: [UInt8] = []
  private var data: [String] = []
  private var name = ""
  private var lastID: String?
  private var skipsLineFeed = false
  private var size = 0

  public init() {}

  public mutating func parse(_ bytes: some Sequence<UInt8>) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    for byte in bytes {
      if skipsLineFeed {
        skipsLineFeed = false
        if byte == 10 { continue }
      }
      if byte == 10 || byte == 13 {
        skipsLineFeed = byte == 13
        if let event = endLine() { events.append(event) }
      } else if size < EventStreamParser.longestEvent {
        line.append(byte)
        size += 1
      }
    }
    return events
  }

  private mutating func endLine() -> ServerSentEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    if line.isEmpty { return dispatch() }
    let text = String(decoding: line, as: UTF8.self)
    let colon = text.firstIndex(of: ":")
    let field = text[..<(colon ?? text.endIndex)]
    var value = colon.map { text[text.index(after: $0)...] } ?? ""
    if value.first == " " { value = value.dropFirst() }
    switch field {
    case "data": data.append(String(value))
    case "event": name = String(value)
    case "id": if !value.utf8.contains(0) { lastID = String(value) }
    default: break
    }
    return nil
  }

  private mutating func dispatch() -> ServerSentEvent? {
    defer {
      data = []
      name = ""
      size = 0
    }
    guard !data.isEmpty, size < EventStreamParser.longestEvent else { return nil }
    return ServerSentEvent(id: lastID, name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
  }
}
