#if os(Linux)
import HandstampCore

/// Reads the head of a response line by line, as libcurl hands it out: the last one, without interim responses (RFC 9110 section 15.2),
/// and without trailers.
struct CurlHeadParser: Sendable, Hashable {
  enum Found: Sendable, Hashable {
    case head(TransportResponse)
    case tooLarge
  }
  private var head = TransportResponse(status: 0)
  private var isComplete = false
  private var size = 0
  private static let longest = 256 << 10

  mutating func add(_ line: [UInt8]) -> Found? {
    size += line.count
    guard size <= CurlHeadParser.longest else { return .tooLarge }
    guard !isComplete else { return nil }
    let end = line.lastIndex { $0 != 13 && $0 != 10 }.map { $0 + 1 } ?? 0
    let text = String(decoding: line[..<end], as: UTF8.self)
    if text.isEmpty {
      isComplete = head.status >= 200 || head.status == 101
      return isComplete ? .head(head) : nil
    }
    if text.hasPrefix("HTTP/") {
      let words = text.split(separator: " ", maxSplits: 2)
      head = TransportResponse(status: words.count > 1 ? Int(words[1]) ?? 0 : 0)
    } else if let first = text.first, first == " " || first == "\t" {
      // Continues the line before (RFC 9112 section 5.2).
      if let last = head.headers.indices.last { head.headers[last].value += " " + CurlHeadParser.trimmed(text[...]) }
    } else if let colon = text.firstIndex(of: ":") {
      let value = CurlHeadParser.trimmed(text[colon...].dropFirst())
      head.headers.append(HeaderField(CurlHeadParser.trimmed(text[..<colon]), value))
    }
    return nil
  }

  private static func trimmed(_ text: Substring) -> String {
    let rest = text.drop { $0 == " " || $0 == "\t" }
    let end = rest.lastIndex { $0 != " " && $0 != "\t" }.map { rest.index(after: $0) } ?? rest.startIndex
    return String(rest[..<end])
  }
}
#endif
