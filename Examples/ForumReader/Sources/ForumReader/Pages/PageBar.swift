/// The page navigation of a list, in the many ways that forums draw it.
///
/// | bar | page |
/// |---|---|
/// | `data-current-page=2 data-total-pages=7` | 2 of 7 |
/// | a menu of 13 numbers, the second selected | 2 of 13 |
/// | links to 1, 3 and the last, 7, titled "Previous page", "Next page", "Last page" | 2 of 7 |
/// | `Pages (12): [3]`, `Page 3 of 12` | 3 of 12 |
/// | no bar | 1 of 1 |
struct PageBar {
  private var total = 1
  private var current: Int?
  private static let limit = 1_000_000

  /// - Throws: ``ScrapeError`` if there are several pages and the bar does not identify this one: mistaken for another
  ///   page, it would replace that one in the store.
  static func numbers(_ page: HTMLPage) throws -> PageNumbers {
    guard let box = page.first("//div[\(having("pages"))]") else { return PageNumbers() }
    let bar = PageBar(box)
    if bar.total == 1 { return PageNumbers() }
    guard let current = bar.current else { throw ScrapeError.missing("number of the page") }
    return PageNumbers(current: current, total: bar.total)
  }

  private init(_ box: HTMLNode) {
    let menu = box.all(".//select[not(@name='perpage')]//option")
    let links = box.all(".//a[@href]").compactMap { link in
      link.id("pagenumber").flatMap { PageBar.number($0) }.map { (page: $0, title: link["title"] ?? "") }
    }
    let words = Words(box)
    var totals = menu.compactMap(PageBar.number(of:)) + links.map(\.page) + [words.total].compactMap(\.self)
    current =
      PageBar.number(box["data-current-page"])
      ?? menu.first { $0["selected"] != nil }.flatMap(PageBar.number(of:))
      ?? links.first { $0.title.hasPrefix("Next") }.map { max(1, $0.page - 1) }
      ?? links.first { $0.title.hasPrefix("Prev") }.map { $0.page + 1 } ?? words.current
    if let current { totals.append(current) }
    total = min(PageBar.number(box["data-total-pages"]) ?? totals.max() ?? 1, PageBar.limit)
    current = current.map { min($0, total) }
  }

  private static func number(of option: HTMLNode) -> Int? { number(option["value"] ?? option.text) }

  private static func number(_ text: String?) -> Int? {
    guard let text, text.utf8.count <= 9, let number = Int(text), number > 0 else { return nil }
    return min(number, limit)
  }

  /// The text of the bar outside of links and menus.
  private struct Words {
    private(set) var total: Int?
    private(set) var current: Int?

    init(_ box: HTMLNode) {
      let text = box.all(".//text()[not(ancestor::a) and not(ancestor::select)]").map(\.text).joined(separator: " ")
      var others: [Int] = []
      var word = ""
      for part in text.split(whereSeparator: { " []:,;«»‹›|".contains($0) }) {
        defer { word = part.lowercased() }
        if part.hasPrefix("("), part.hasSuffix(")"), let number = PageBar.number(String(part.dropFirst().dropLast())) {
          total = number
        } else if let number = PageBar.number(String(part)) {
          if word == "of" || word == "/" { total = number } else { others.append(number) }
        }
      }
      // The current page's number is not a link. If several numbers are not, it cannot be determined.
      if Set(others).count == 1 { current = others.first }
    }
  }
}
