/// One server-sent event.
public struct ServerSentEvent: Sendable, Hashable {
  /// The last id that the stream has named, by this event or an earlier one.
  public var id: String?
  public var name: String
  public var data: String

  public init(id: String? = nil, name: String = "message", data: String) {
    self.id = id
    self.name = name
    self.data = data
  }
}

/// Reads server-sent events from bytes as they come (WHATWG HTML, section 9.2.6). Lines and events may be cut anywhere; a byte
/// order mark at the start is dropped; comments may be of any length.
public struct EventStreamParser: Sendable {
  /// An event whose lines have more bytes than this is dropped; its id and the events after it are not.
  public static let longestEvent = 1 << 20
  /// What is kept of a line of an event that is too long: enough for an id.
  private static let longestField = 4096

  /// What stood in a stream.
  package enum Item: Sendable, Hashable {
    /// An event, and whether it named its id itself.
    case event(ServerSentEvent, hasOwnID: Bool)
    /// An id without an event: where to resume, all the same.
    case id(String)
    /// How long to wait before the next connection.
    case retry(Duration)
  }

  private enum Place { case lineStart, field, comment }

  private var place = Place.lineStart
  private var line: [UInt8] = []
  private var data: [String] = []
  private var name = ""
  private var lastID: String?
  private var hasOwnID = false
  private var skipsLineFeed = false
  private var size = 0
  /// The bytes of a byte order mark that may still come; nothing once anything else has.
  private var mark: ArraySlice<UInt8>? = [0xEF, 0xBB, 0xBF]

  public init() {}

  /// The events that end in `bytes`.
  public mutating func parse(_ bytes: some Sequence<UInt8>) -> [ServerSentEvent] {
    items(in: bytes).compactMap { if case .event(let event, _) = $0 { event } else { nil } }
  }

  /// Everything that ends in `bytes`.
  package mutating func items(in bytes: some Sequence<UInt8>) -> [Item] {
    var items: [Item] = []
    for byte in bytes { take(byte, &items) }
    return items
  }

  private mutating func take(_ byte: UInt8, _ items: inout [Item]) {
    if let wanted = mark {
      if byte == wanted.first {
        mark = wanted.count > 1 ? wanted.dropFirst() : nil
        return
      }
      mark = nil
      // It only began like one: those bytes are of the first line.
      let begun: [UInt8] = [0xEF, 0xBB, 0xBF]
      for earlier in begun.prefix(3 - wanted.count) { take(earlier, &items) }
    }
    if skipsLineFeed {
      skipsLineFeed = false
      if byte == 10 { return }
    }
    if byte == 10 || byte == 13 {
      skipsLineFeed = byte == 13
      if let item = endLine() { items.append(item) }
      return
    }
    if place == .lineStart { place = byte == UInt8(ascii: ":") ? .comment : .field }
    guard place == .field else { return }
    size += 1
    if size <= EventStreamParser.longestEvent || line.count < EventStreamParser.longestField { line.append(byte) }
  }

  private mutating func endLine() -> Item? {
    defer {
      line.removeAll(keepingCapacity: line.count < EventStreamParser.longestField)
      place = .lineStart
    }
    switch place {
    case .lineStart: return dispatch()
    case .comment: return nil
    case .field: break
    }
    let text = String(decoding: line, as: UTF8.self)
    let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
    let field = text[..<(colon ?? text.endIndex)]
    var value = colon.map { text[text.utf8.index(after: $0)...] } ?? ""
    if value.utf8.first == UInt8(ascii: " ") { value = Substring(value.utf8.dropFirst()) }
    switch field {
    case "data": if size <= EventStreamParser.longestEvent { data.append(String(value)) } else { data = [] }
    case "event": name = String(value)
    case "id":
      if !value.utf8.contains(0) {
        lastID = String(value)
        hasOwnID = true
      }
    case "retry":
      guard !value.isEmpty, value.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(value) else { break }
      return .retry(.milliseconds(number))
    default: break
    }
    return nil
  }

  private mutating func dispatch() -> Item? {
    defer {
      data = []
      name = ""
      size = 0
      hasOwnID = false
    }
    guard !data.isEmpty, size <= EventStreamParser.longestEvent else { return hasOwnID ? lastID.map { .id($0) } : nil }
    let event = ServerSentEvent(
      id: lastID, name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
    return .event(event, hasOwnID: hasOwnID)
  }
}
