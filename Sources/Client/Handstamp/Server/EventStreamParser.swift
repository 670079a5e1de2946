import HandstampSupport

/// One server-sent event.
public struct ServerSentEvent: Sendable, Hashable {
  /// The last ID of the stream, set by this event or an earlier one.
  public var id: String?
  /// The event's type; `message` if the server sent none.
  public var name: String
  /// The event's data; lines are separated by a line feed.
  public var data: String

  public init(id: String? = nil, name: String = "message", data: String) {
    self.id = id
    self.name = name
    self.data = data
  }
}

/// Parses server-sent events from bytes as they arrive (WHATWG HTML, section 9.2.6). Lines and events may be split anywhere; a
/// byte order mark at the start is skipped; comments may have any length.
package struct EventStreamParser: Sendable {
  /// The largest event by default, in bytes; a larger one is dropped, but not its ID and not the events after it.
  package static let longestEvent = 1 << 20
  /// The part of an oversized event's line that is kept, in bytes: enough for an ID.
  private static let longestField = 4096

  /// An item of a stream.
  package enum Item: Sendable, Hashable {
    /// An event, and whether it has an ID of its own.
    case event(ServerSentEvent, hasOwnID: Bool)
    /// An ID without an event: a position to resume from.
    case id(String)
    /// The delay before the next connection.
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
  private let limit: Int
  /// How many events were too large.
  package private(set) var droppedEvents = 0
  /// The bytes of a byte order mark that may still follow; `nil` after any other byte.
  private var mark: ArraySlice<UInt8>? = [0xEF, 0xBB, 0xBF]

  /// - Parameter limit: the largest event, in bytes.
  package init(limit: Int = EventStreamParser.longestEvent) { self.limit = limit }

  /// Returns all items that end in `bytes`.
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
      // The bytes only began like a byte order mark: they belong to the first line.
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
    if size <= limit || line.count < EventStreamParser.longestField { line.append(byte) }
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
    case "data": if size <= limit { data.append(String(value)) } else { data = [] }
    case "event": name = String(value)
    case "id":
      if !value.utf8.contains(0) {
        lastID = String(value)
        hasOwnID = true
      }
    case "retry":
      guard !value.isEmpty, value.utf8.allSatisfy(\.isDigit), let number = Int64(value) else { break }
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
    if size > limit { droppedEvents += 1 }
    guard !data.isEmpty, size <= limit else { return hasOwnID ? lastID.map { .id($0) } : nil }
    let event = ServerSentEvent(
      id: lastID, name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
    return .event(event, hasOwnID: hasOwnID)
  }
}
