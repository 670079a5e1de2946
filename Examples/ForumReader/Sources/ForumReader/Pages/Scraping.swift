/// A page that can be read into a value.
public protocol Scraped {
  /// - Throws: ``ScrapeError`` when a required part is missing.
  init(_ page: HTMLPage) throws
}

extension HTMLPage {
  /// The page as `Value`, unless it says something else.
  ///
  /// - Throws: ``ForumRefusal`` for a page of refusal, ``ScrapeError`` for one that is not understood.
  public func scrape<Value: Scraped>(_ type: Value.Type = Value.self) throws -> Value {
    if let refusal { throw refusal }
    return try Value(self)
  }

  /// What it says instead of what was asked for.
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

  /// What a page without a list has to say.
  var message: String { (first("//*[\(having("inner"))]") ?? first("//*[@id='content']"))?.line ?? "" }

  func required(_ path: String, _ name: String) throws -> HTMLNode {
    guard let node = first(path) else { throw ScrapeError.missing(name) }
    return node
  }

  /// Whose page it is.
  public enum Visitor: Sendable, Hashable {
    case member(ForumUser)
    case guest
    /// The page does not say. Nothing follows from it, and least of all that a session has ended.
    case unknown
  }

  public var visitor: Visitor {
    switch first("//body")?["data-user"] {
    case "0": .guest
    case let id? where !id.isEmpty: .member(ForumUser(id: id, name: first("//*[@id='loggedinusername']")?.text ?? ""))
    default: asksToSignIn && !asksToSignOut ? .guest : .unknown
    }
  }

  /// Whether it is the forum's, as a member sees it: it names them, or has a way to sign out.
  var isForMember: Bool { user != nil || (visitor != .guest && asksToSignOut) }

  var user: ForumUser? { if case .member(let user) = visitor { user } else { nil } }

  private var asksToSignOut: Bool { first("//a[contains(@href, 'action=logout')]") != nil }

  /// Whether it shows the sign-in form, or the way to it.
  private var asksToSignIn: Bool {
    first("//form[contains(@action, 'account.php')]") != nil
      || first("//a[contains(@href, 'account.php')][contains(@href, 'action=loginform')]") != nil
  }
}

/// The condition that an element has that class among its own.
func having(_ name: String) -> String { "contains(concat(' ', normalize-space(@class), ' '), ' \(name) ')" }

extension HTMLNode {
  /// The value of `name` in the query of its `href`; only letters, digits, `-` and `_`, so that it goes into an address
  /// as it is.
  func id(_ name: String) -> String? {
    guard let href = self["href"] else { return nil }
    for part in href.split(whereSeparator: { "?&#;".contains($0) }) where part.hasPrefix(name + "=") {
      return Self.id(part.dropFirst(name.count + 1))
    }
    return nil
  }

  /// Its lines as one.
  var line: String { lines.replacing("\n", with: " ") }

  /// The part of a class such as `thread_12` that follows `thread_`.
  func id(afterClass prefix: String) -> String? {
    classes.first { $0.hasPrefix(prefix) }.flatMap { Self.id($0.dropFirst(prefix.count)) }
  }

  /// The date in it, as people shall see it. The forum sets marks beside dates, which are links (`#`, `¿`), and has `¿` also in the
  /// place of a space.
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

/// The digits of a text as a number: `1,204` is 1204.
func count(_ text: String?) -> Int {
  let digits = (text ?? "").filter { $0.isASCII && $0.isNumber }.prefix(9)
  return Int(digits) ?? 0
}

/// All scrapers at once, to look for a page that breaks one.
public enum Everything {
  /// Reads the page as whatever it may be. What cannot be read is an error, which says nothing here.
  public static func read(_ bytes: [UInt8]) {
    guard let page = try? HTMLPage(windows1252: bytes) else { return }
    _ = (page.refusal, page.visitor, page.probation)
    _ = try? BanList(page)
    _ = try? ForumIndex(page)
    _ = try? ThreadList(page)
    _ = try? BookmarkList(page)
    _ = try? PostsPage(page)
    _ = try? ProfilePage(page)
    _ = try? MessageList(page)
    _ = try? MessagePage(page)
  }
}
