/// The `<body …>` tags in the source of a page.
///
/// Pages of old forums have content before that tag: a hidden name, an image, some text. The body then starts without
/// it, and the late tag's attributes are added to that body (WHATWG HTML, 13.2.6.4.7). Browsers do so, but libxml2
/// drops the tag with its attributes. So the tags are found here, and ``HTMLPage`` has libxml2 parse each of them
/// separately.
enum BodyTags {
  /// A page with more tags is not a real page, and parsing each takes time.
  static let limit = 8

  /// Returns the first ``limit`` tags, each from its `<` to its `>`. Those in comments, scripts and titles do not
  /// count.
  static func find(in page: [UInt8]) -> [Range<Int>] {
    var scanner = Scanner(page: page)
    var tags: [Range<Int>] = []
    while tags.count < limit, let tag = scanner.next() {
      if tag.name == Array("body".utf8) { tags.append(tag.range) }
    }
    return tags
  }

  private struct Scanner {
    let page: [UInt8]
    private var place = 0

    init(page: [UInt8]) { self.page = page }

    /// Elements whose content is always text (WHATWG HTML, 13.2.6.2).
    private static let texts = Set(
      ["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"].map { Array($0.utf8) })

    /// Returns the next start tag, its name in lower case.
    mutating func next() -> (name: [UInt8], range: Range<Int>)? {
      while let start = page[place...].firstIndex(of: UInt8(ascii: "<")) {
        place = start + 1
        guard place < page.count else { return nil }
        switch page[place] {
        case UInt8(ascii: "!"):
          let isComment = page[place...].starts(with: "!--".utf8)
          // `<!-->` is a comment as well.
          skip(past: isComment ? "-->" : ">", from: isComment ? place + 1 : place)
        case UInt8(ascii: "?"): skip(past: ">", from: place)
        case UInt8(ascii: "/"):
          place += 1
          if place < page.count, Scanner.isLetter(page[place]) { _ = endTag() } else { skip(past: ">", from: place) }
        case let byte where Scanner.isLetter(byte):
          let name = page[place...].prefix { !Scanner.endsName($0) }.map { $0 | 0x20 }
          // A tag without an end does not count, and no other tag can follow it.
          guard endTag() else { return nil }
          let range = start..<place
          if Scanner.texts.contains(name) { skipText(of: name) }
          return (name, range)
        default: break
        }
      }
      return nil
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) }
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (9...13).contains(byte) }
    private static func endsName(_ byte: UInt8) -> Bool {
      isSpace(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: ">")
    }

    private enum Part { case name, equals, quoted(UInt8), value }

    /// Moves past the `>` of the tag, skipping those in quoted values. Returns `false` if the page ends before.
    private mutating func endTag() -> Bool {
      var part = Part.name
      while place < page.count {
        let byte = page[place]
        place += 1
        switch (part, byte) {
        case (.quoted(let quote), _): if byte == quote { part = .name }
        case (_, UInt8(ascii: ">")): return true
        case (.name, UInt8(ascii: "=")): part = .equals
        case (.equals, UInt8(ascii: "\"")), (.equals, UInt8(ascii: "'")): part = .quoted(byte)
        case (.equals, _): if !Scanner.isSpace(byte) { part = .value }
        case (.value, _): if Scanner.isSpace(byte) { part = .name }
        case (.name, _): break
        }
      }
      return false
    }

    private mutating func skip(past end: String, from start: Int) {
      let end = Array(end.utf8)
      place = start
      while let found = page[place...].firstIndex(of: end[0]) {
        place = found + 1
        if page[found...].starts(with: end) {
          place = found + end.count
          return
        }
      }
      place = page.count
    }

    private mutating func skipText(of name: [UInt8]) {
      while let found = page[place...].firstIndex(of: UInt8(ascii: "<")) {
        place = found + 1
        let rest = page[place...]
        guard rest.first == UInt8(ascii: "/"), rest.dropFirst().prefix(name.count).map({ $0 | 0x20 }) == name else {
          continue
        }
        if let next = rest.dropFirst(1 + name.count).first, !Scanner.endsName(next) { continue }
        place = found
        return
      }
      place = page.count
    }
  }
}
