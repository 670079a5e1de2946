/// Why and until when a member may not read or write, in the forum's words.
public struct Ban: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    /// May read, but not write.
    case probation
    case ban
    /// A ban without an end.
    case permanent
  }
  public var kind: Kind
  /// Empty if the forum states no reason.
  public var reason: String
  /// `nil` if the forum states no end.
  public var end: ForumDate?
  /// The member whose entry in the forum's list of bans has details; `nil` if the page links to none.
  public var listed: String?

  public init(_ kind: Kind = .ban, reason: String = "", end: ForumDate? = nil, listed: String? = nil) {
    self.kind = kind
    self.reason = reason
    self.end = end
    self.listed = listed
  }

  /// Reads the page of a banned member. The forum has several kinds: some state reason and end in prose, others only
  /// link to the list of bans.
  init(_ page: HTMLPage) {
    let lines = page.first("//body")?.lines.split(separator: "\n").map { Line($0) } ?? []
    let listed = page.first("//a[contains(@href, 'banlist.php')][contains(@href, 'userid=')]")?.id("userid")
    let marked = page.first("//*[\(having("reason"))]")?.text
    let said = Line.reason(in: lines)
    let until = page.first("//*[\(having("until"))]").map { ForumDate($0.dateText) } ?? Line.end(in: lines)
    // The reason is not searched for an end: it may say that a member did something "forever".
    let others = lines.enumerated().filter { $0.offset != said?.line && $0.element.text != marked }.map(\.element)
    let isPermanent = others.contains(where: \.isPermanent) || until.map { Line($0.text[...]).isPermanent } ?? false
    self.init(
      isPermanent ? .permanent : .ban,
      reason: marked ?? said?.text ?? (until == nil && listed == nil ? page.message : ""),
      end: isPermanent ? nil : until.flatMap { $0.text.isEmpty ? nil : $0 },
      listed: listed)
  }

  /// A line of prose, split into words.
  struct Line {
    private let words: [Substring]

    init(_ text: Substring) {
      words = text.split(whereSeparator: { $0.isWhitespace || $0 == "\u{BF}" })
    }

    var text: String { words.joined(separator: " ") }

    private static func plain(_ word: Substring) -> String {
      word.lowercased().filter { $0.isLetter }
    }

    private static let permanent: Set = ["permanent", "permanently", "permaban", "permabanned", "forever", "never"]

    var isPermanent: Bool { words.contains { Line.permanent.contains(Line.plain($0)) } }

    /// The text after `until`, as far as it is a date, or else to the end of the sentence.
    var end: ForumDate? {
      guard let place = words.firstIndex(where: { Line.plain($0) == "until" }) else { return nil }
      let rest = words[(place + 1)...].prefix(12)
      let dates = (1...12).reversed().lazy.filter { $0 <= rest.count }
        .map { ForumDate(Line.text(rest.prefix($0))) }
      if let date = dates.first(where: { $0.seconds != nil }) { return date }
      let stop = rest.firstIndex { $0.hasSuffix(".") } ?? rest.endIndex - 1
      return rest.isEmpty ? nil : ForumDate(Line.text(rest[...stop]))
    }

    private static func text(_ words: ArraySlice<Substring>) -> String {
      var text = words.joined(separator: " ")
      if text.hasSuffix("."), !text.hasSuffix(".m.") { text.removeLast() }
      return text
    }

    /// The text after a word such as `Reason:`; `nil` if the line has none, empty if it continues on the next line.
    private var reason: String? {
      guard let place = words.firstIndex(where: { Line.plain($0).hasPrefix("reason") }),
        let colon = words[place...].firstIndex(where: { $0.hasSuffix(":") })
      else { return nil }
      return words[(colon + 1)...].joined(separator: " ")
    }

    static func reason(in lines: [Line]) -> (text: String, line: Int)? {
      for (place, line) in lines.enumerated() {
        guard let reason = line.reason else { continue }
        if !reason.isEmpty { return (reason, place) }
        if place + 1 < lines.count { return (lines[place + 1].text, place + 1) }
      }
      return nil
    }

    static func end(in lines: [Line]) -> ForumDate? {
      let reason = reason(in: lines)?.line
      return lines.enumerated().lazy.filter { $0.offset != reason }.compactMap(\.element.end).first
    }
  }
}

extension HTMLPage {
  /// The probation mentioned on the page, for members who may read but not write for a while.
  public var probation: Ban? {
    guard let box = first("//*[@id='probation_warn']") else { return nil }
    return Ban(.probation, end: Ban.Line(box.text[...]).end, listed: box.first(".//a[@href]")?.id("userid"))
  }
}

/// The forum's list of bans and probations, latest first.
public struct BanList: Sendable, Hashable {
  public struct Entry: Sendable, Hashable {
    public var user: ForumUser
    public var date: ForumDate
    public var ban: Ban
  }
  public var entries: [Entry]
}

extension BanList: Scraped {
  public init(_ page: HTMLPage) throws {
    let table = try page.required("//table[.//th[starts-with(normalize-space(.), 'Type')]]", "table of bans")
    let rows = table.all(".//tr[td]")
    entries = rows.compactMap(Entry.init)
    guard entries.count == rows.count else { throw ScrapeError.missing("ban in each row") }
  }
}

extension BanList.Entry {
  /// Type, date, member, reason, in the order of all such pages.
  fileprivate init?(_ row: HTMLNode) {
    let cells = row.all("./td")
    guard cells.count >= 4, let link = cells[2].first(".//a[@href]"), let id = link.id("userid") else { return nil }
    let type = cells[0].text.lowercased()
    let kind: Ban.Kind
    if type.contains("probation") {
      kind = .probation
    } else if type.contains("ban") {
      kind = type.contains("perm") ? .permanent : .ban
    } else {
      return nil
    }
    let reason = cells[3].text
    let end = kind == .permanent ? nil : Ban.Line(reason[...]).end
    self.init(
      user: ForumUser(id: id, name: link.text), date: ForumDate(cells[1].dateText),
      ban: Ban(kind, reason: reason, end: end))
  }
}
