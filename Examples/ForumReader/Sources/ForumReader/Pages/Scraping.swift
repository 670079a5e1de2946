/// A value that can be read from a page.
public protocol Scraped {
  /// - Throws: ``ScrapeError`` if a required part is missing.
  init(_ page: HTMLPage) throws
}

extension HTMLPage {
  /// Reads the page as `Value`.
  ///
  /// - Throws: ``ForumRefusal`` for a page of refusal, ``ScrapeError`` for one that cannot be parsed.
  public func scrape<Value: Scraped>(_ type: Value.Type = Value.self) throws -> Value {
    if let refusal { throw refusal }
    return try Value(self)
  }

  /// The refusal on the page, if it is one.
  public var refusal: ForumRefusal? {
    guard let body = first("//body") else { return nil }
    let classes = body.classes
    if classes.contains("database_error") { return .databaseDown }
    if classes.contains("banned") { return .banned(Ban(self)) }
    guard classes.contains("standarderror") else { return nil }
    let text = message
    let title = first("//h2")?.text ?? ""
    if asksToSignIn, text.lowercased().contains("register") { return .mustRegister }
    if classes.contains("closed") { return .closed(text) }
    return .refused(title: title, text: text)
  }

  /// The text of a page without a list.
  var message: String { (first("//*[\(having("inner"))]") ?? first("//*[@id='content']"))?.line ?? "" }

  func required(_ path: String, _ name: String) throws -> HTMLNode {
    guard let node = first(path) else { throw ScrapeError.missing(name) }
    return node
  }

  /// The visitor for whom the page was made.
  public enum Visitor: Sendable, Hashable {
    case member(ForumUser)
    case guest
    /// The page does not say. No conclusions follow, least of all that a session has ended.
    case unknown
  }

  public var visitor: Visitor {
    switch first("//body")?["data-user"] {
    case "0": .guest
    case let id? where !id.isEmpty: .member(ForumUser(id: id, name: first("//*[@id='loggedinusername']")?.text ?? ""))
    default: asksToSignIn && !asksToSignOut ? .guest : .unknown
    }
  }

  /// Whether the page is the forum's, as shown to members: it names the member, or has a link to sign out.
  var isForMember: Bool { user != nil || (visitor != .guest && asksToSignOut) }

  var user: ForumUser? { if case .member(let user) = visitor { user } else { nil } }

  private var asksToSignOut: Bool { first("//a[contains(@href, 'action=logout')]") != nil }

  /// Whether the page shows the sign-in form, or a link to it.
  private var asksToSignIn: Bool {
    first("//form[contains(@action, 'account.php')]") != nil
      || first("//a[contains(@href, 'account.php')][contains(@href, 'action=loginform')]") != nil
  }
}

/// Returns the XPath condition that an element has this class.
func having(_ name: String) -> String { "contains(concat(' ', normalize-space(@class), ' '), ' \(name) ')" }

extension HTMLNode {
  /// Returns the value of `name` in the query of the `href`, if it consists of letters, digits, `-` and `_`, so that it
  /// can be used in a URL as it is.
  func id(_ name: String) -> String? {
    guard let href = self["href"] else { return nil }
    for part in href.split(whereSeparator: { "?&#;".contains($0) }) where part.hasPrefix(name + "=") {
      return Self.id(part.dropFirst(name.count + 1))
    }
    return nil
  }

  /// The lines joined to one.
  var line: String { lines.replacing("\n", with: " ") }

  /// Returns the part of a class such as `thread_12` after `thread_`.
  func id(afterClass prefix: String) -> String? {
    classes.first { $0.hasPrefix(prefix) }.flatMap { Self.id($0.dropFirst(prefix.count)) }
  }

  /// The date in this node, as shown to users. The forum puts marks beside dates, which are links (`#`, `¿`), and
  /// sometimes `¿` in place of a space.
  var dateText: String {
    let own = all(".//text()[not(ancestor::a)]").map(\.text).joined(separator: " ")
    let text = own.contains(where: \.isNumber) ? own : text
    return text.split(whereSeparator: { $0 == " " || $0 == "\u{BF}" }).filter { $0 != "#" && $0 != "?" }
      .joined(separator: " ")
  }

  static func id(_ text: some StringProtocol) -> String? {
    let isID =
      !text.isEmpty && text.utf8.count <= 32
      && text.utf8.allSatisfy { byte in
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45 || byte == 95
      }
    return isID ? String(text) : nil
  }

  func id(after prefix: String, of attribute: String) -> String? {
    guard let value = self[attribute], value.hasPrefix(prefix) else { return nil }
    return Self.id(value.dropFirst(prefix.count))
  }
}

/// Returns the digits of a text as a number: `1,204` is 1204.
func count(_ text: String?) -> Int {
  let digits = (text ?? "").filter { $0.isASCII && $0.isNumber }.prefix(9)
  return Int(digits) ?? 0
}

/// All scrapers at once, for the fuzzer.
public enum Everything {
  /// Reads the page as every type in turn, and returns the errors.
  @discardableResult public static func read(_ bytes: [UInt8]) -> [any Error] {
    let page: HTMLPage
    do { page = try HTMLPage(windows1252: bytes) } catch { return [error] }
    _ = (page.refusal, page.visitor, page.probation)
    let types: [any Scraped.Type] = [
      BanList.self, ForumIndex.self, ThreadList.self, BookmarkList.self, PostsPage.self, ProfilePage.self,
      MessageList.self, MessagePage.self,
    ]
    return types.compactMap { type in
      do { _ = try type.init(page) } catch { return error }
      return nil
    }
  }
}
