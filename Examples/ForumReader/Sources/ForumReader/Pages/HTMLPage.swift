import CHTML
import HandstampCookies

/// A page parsed by libxml2: tag soup in, a tree out. All uses of libxml2 are in this file.
public final class HTMLPage {
  private let document: htmlDocPtr

  /// A larger page is not a forum's.
  static let sizeLimit = 8 << 20

  /// - Parameter bytes: In windows-1252. Every byte is a valid character.
  public convenience init(windows1252 bytes: [UInt8]) throws { try self.init(Windows1252.decode(bytes)) }

  /// - Throws: ``ScrapeError`` if the text is not a page at all.
  public init(_ text: String) throws {
    // libxml2 stops at a zero byte, and would ignore the rest.
    let utf8 = Array(text.utf8).map { $0 == 0 ? 0x20 : $0 }
    guard !utf8.isEmpty, utf8.count <= HTMLPage.sizeLimit else { throw ScrapeError.missing("page") }
    let parsed = HTMLPage.parse(utf8)
    guard let parsed else { throw ScrapeError.missing("page") }
    document = parsed
    for tag in BodyTags.find(in: utf8) { add(attributesOf: Array(utf8[tag])) }
  }

  deinit { xmlFreeDoc(document) }

  private static let options = Int32(
    HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue
      | HTML_PARSE_NONET.rawValue | HTML_PARSE_COMPACT.rawValue)

  private static func parse(_ utf8: [UInt8]) -> htmlDocPtr? {
    utf8.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) {
        htmlReadMemory($0.baseAddress, Int32($0.count), nil, "UTF-8", options)
      }
    }
  }

  /// Adds the attributes of a `body` tag that came too late. Existing attributes stay.
  private func add(attributesOf tag: [UInt8]) {
    guard let body = first("//body")?.node, let alone = HTMLPage.parse(tag) else { return }
    defer { xmlFreeDoc(alone) }
    var attribute = HTMLPage.body(of: alone)?.pointee.properties
    while let current = attribute {
      attribute = current.pointee.next
      guard let name = current.pointee.name, xmlHasProp(body, name) == nil else { continue }
      let value = xmlNodeGetContent(UnsafeMutableRawPointer(current).assumingMemoryBound(to: xmlNode.self))
      xmlNewProp(body, name, value)
      chtml_free(value)
    }
  }

  private static func body(of document: htmlDocPtr) -> xmlNodePtr? {
    var node = xmlDocGetRootElement(document)?.pointee.children
    while let current = node {
      if let name = current.pointee.name, String(cString: name) == "body" { return current }
      node = current.pointee.next
    }
    return nil
  }

  /// Returns all matches of the XPath expression, in document order.
  public func all(_ path: String) -> [HTMLNode] { find(path, below: nil) }

  /// Returns the first match of the XPath expression, and searches no further.
  public func first(_ path: String) -> HTMLNode? { find("(\(path))[1]", below: nil).first }

  fileprivate func find(_ path: String, below node: xmlNodePtr?) -> [HTMLNode] {
    guard let context = xmlXPathNewContext(document) else { return [] }
    defer { xmlXPathFreeContext(context) }
    if let node { context.pointee.node = node }
    guard let result = xmlXPathEvalExpression(path, context) else { return [] }
    defer { xmlXPathFreeObject(result) }
    guard let set = result.pointee.nodesetval, let nodes = set.pointee.nodeTab else { return [] }
    return (0..<Int(set.pointee.nodeNr)).compactMap { index in nodes[index].map { HTMLNode(page: self, node: $0) } }
  }
}

/// An element or an attribute. Keeps its page alive.
public struct HTMLNode {
  let page: HTMLPage
  let node: xmlNodePtr

  public func all(_ path: String) -> [HTMLNode] { page.find(path, below: node) }
  public func first(_ path: String) -> HTMLNode? { page.find("(\(path))[1]", below: node).first }

  /// The text of this node and its descendants, with single spaces.
  public var text: String {
    guard let content = xmlNodeGetContent(node) else { return "" }
    defer { chtml_free(content) }
    let text = String(cString: content)
    return text.unicodeScalars.split(whereSeparator: LineWriter.isSpace).map { String($0) }.joined(separator: " ")
  }

  public subscript(attribute: String) -> String? {
    guard let value = xmlGetProp(node, attribute) else { return nil }
    defer { chtml_free(value) }
    return String(cString: value)
  }

  public var classes: [Substring] { (self["class"] ?? "").split(whereSeparator: \.isWhitespace) }

  /// The content as plain text: breaks and paragraphs become lines, and quotes start with `> `.
  public var lines: String {
    var writer = LineWriter()
    writer.write(node, depth: 0)
    return writer.text
  }
}

/// Converts a post's HTML to lines.
private struct LineWriter {
  private var lines: [String] = []
  private var line = String.UnicodeScalarView()
  /// Whether the line contains more than quote marks.
  private var hasText = false
  private var quotes = 0
  /// The maximum nesting, so that recursion ends before the stack overflows.
  private static let depthLimit = 200

  var text: String {
    var all = lines
    if hasText { all.append(LineWriter.trimmed(line)) }
    return all.joined(separator: "\n")
  }

  mutating func write(_ node: xmlNodePtr, depth: Int) {
    guard depth < LineWriter.depthLimit else { return }
    var child = node.pointee.children
    while let current = child {
      write(one: current, depth: depth)
      child = current.pointee.next
    }
  }

  private mutating func write(one node: xmlNodePtr, depth: Int) {
    if node.pointee.type == XML_TEXT_NODE {
      guard let content = node.pointee.content else { return }
      add(String(cString: content))
      return
    }
    guard node.pointee.type == XML_ELEMENT_NODE, let name = node.pointee.name else { return }
    switch String(cString: name).lowercased() {
    case "script", "style": return
    case "br": breakLine()
    case "img":
      if let text = HTMLNodeText.attribute(node, "alt") ?? HTMLNodeText.attribute(node, "title") { add("[\(text)]") }
    case "blockquote":
      quotes += 1
      breakLine()
      write(node, depth: depth + 1)
      quotes -= 1
      breakLine()
    case "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre":
      breakLine()
      write(node, depth: depth + 1)
      breakLine()
    default: write(node, depth: depth + 1)
    }
  }

  private mutating func add(_ text: String) {
    for scalar in text.unicodeScalars {
      if !LineWriter.isSpace(scalar) {
        line.append(scalar)
        hasText = true
      } else if let last = line.last, last != " " {
        line.append(" ")
      }
    }
  }

  private mutating func breakLine() {
    if hasText { lines.append(LineWriter.trimmed(line)) }
    line = String.UnicodeScalarView(String(repeating: "> ", count: min(quotes, 8)).unicodeScalars)
    hasText = false
  }

  static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x80
      ? scalar == " " || (9...13).contains(scalar.value) : scalar == "\u{A0}" || scalar.properties.isWhitespace
  }

  private static func trimmed(_ line: String.UnicodeScalarView) -> String {
    var line = line
    while line.last == " " { line.removeLast() }
    return String(line)
  }
}

private enum HTMLNodeText {
  static func attribute(_ node: xmlNodePtr, _ name: String) -> String? {
    guard let value = xmlGetProp(node, name) else { return nil }
    defer { chtml_free(value) }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
  }
}
