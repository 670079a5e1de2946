/// The output for one list on a plain terminal, where earlier output cannot be changed: first the whole list, then its
/// changes.
struct Screen {
  let list: Listing
  private var shown: ForumStore.Listed?

  init(_ list: Listing) { self.list = list }

  /// Returns the output for the updated list.
  mutating func update(_ listed: ForumStore.Listed) -> [String] {
    defer { shown = listed }
    guard let shown else { return whole(listed) }
    // Users type the numbers, so if they refer to other rows now, the whole list is printed again.
    guard shown.lines.map(\.id) == listed.lines.map(\.id) else {
      return listed.lines.isEmpty ? ["nothing here any more"] : whole(listed)
    }
    let changed = zip(shown.lines, listed.lines).enumerated().filter { isNews($1.0, $1.1) }
    var lines = changed.map { index, pair in text(pair.1, index) }
    if !lines.isEmpty { lines.insert("changed:", at: 0) }
    if shown.pages != listed.pages { lines += foot(listed) }
    return lines
  }

  /// Whether the change is news. That a post was read is not news to its reader.
  private func isNews(_ before: ForumStore.Line, _ now: ForumStore.Line) -> Bool {
    (before.text, before.note, before.section) != (now.text, now.note, now.section)
  }

  private func whole(_ listed: ForumStore.Listed) -> [String] {
    var lines: [String] = []
    var section = ""
    for (index, line) in listed.lines.enumerated() {
      if line.section != section {
        section = line.section
        lines.append("== \(section)")
      }
      lines.append(text(line, index))
    }
    return lines + foot(listed)
  }

  private func text(_ line: ForumStore.Line, _ index: Int) -> String {
    switch list {
    case .posts, .message, .person: "-- \(line.note)\(line.isNew ? " *" : "")\n\(line.text)"
    case .forums, .threads, .bookmarks, .messages:
      "\(index + 1). \(line.text) (\(line.note)\(line.isNew ? ", new" : ""))"
    }
  }

  private func foot(_ listed: ForumStore.Listed) -> [String] {
    switch list {
    case .threads(_, let page), .bookmarks(let page), .posts(_, let page):
      listed.lines.isEmpty ? [] : ["page \(page) of \(listed.pages)"]
    case .forums, .messages, .message, .person: []
    }
  }
}
