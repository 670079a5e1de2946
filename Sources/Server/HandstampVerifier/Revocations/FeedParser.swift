#if Verifier
import HandstampSupport

/// One event of the revocation feed.
struct FeedEvent: Sendable, Hashable {
  var name: String
  var id: String?
  var data: [UInt8]
}

/// Reads server-sent events (WHATWG HTML section 9.2.6) as bytes arrive. Unlike a browser's, it drops nothing: an event that is too
/// large ends the feed, because a session that is left out would stay valid.
struct FeedParser: Sendable {
  /// The largest event, in bytes. The server's have some 20 KB.
  static let longest = 256 << 10

  private var line: [UInt8] = []
  private var event = FeedEvent(name: "", id: nil, data: [])
  private var hasData = false
  private var skipsLineFeed = false
  private var size = 0

  /// Calls `body` with each event that ends in `bytes`.
  mutating func parse(
    _ bytes: [UInt8], _ body: (FeedEvent) throws(FeedError) -> Void
  ) throws(FeedError) {
    var rest = bytes[...]
    while let end = rest.firstIndex(where: { $0 == 10 || $0 == 13 }) {
      let isEndOfPair = skipsLineFeed && end == rest.startIndex && rest[end] == 10
      skipsLineFeed = rest[end] == 13
      if !isEndOfPair {
        try append(rest[..<end])
        if let event = endLine() { try body(event) }
      }
      rest = rest[(end + 1)...]
    }
    if !rest.isEmpty {
      skipsLineFeed = false
      try append(rest)
    }
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>) throws(FeedError) {
    size += bytes.count
    guard size <= FeedParser.longest else { throw .notValid("an event is too large") }
    line += bytes
  }

  private mutating func endLine() -> FeedEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    guard !line.isEmpty else {
      defer {
        event = FeedEvent(name: "", id: nil, data: [])
        (hasData, size) = (false, 0)
      }
      return hasData || event.id != nil ? event : nil
    }
    let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    switch String(decoding: line[..<colon], as: UTF8.self) {
    case "event": event.name = String(decoding: value, as: UTF8.self)
    case "id": event.id = String(decoding: value, as: UTF8.self)
    case "data":
      if hasData { event.data.append(10) }
      event.data += value
      hasData = true
    case "": size = event.data.count
    default: break
    }
    return nil
  }
}
#endif
