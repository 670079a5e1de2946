import GRDB
import HandstampData

/// A list or an item of the forum.
public enum Listing: Sendable, Hashable {
  case forums
  case threads(forum: String, page: Int)
  case bookmarks(page: Int)
  case posts(thread: String, page: Int)
  case messages
  case message(String)
  case person(String)

  var table: CachedTable {
    switch self {
    case .forums: .forum
    case .threads, .bookmarks: .thread
    case .posts: .post
    case .messages, .message: .message
    case .person: .person
    }
  }

  /// How long a fetched list is considered fresh, unless the user asks; `nil` if it is fetched at every visit.
  public var rest: Duration? {
    switch self {
    case .forums: .seconds(6 * 3600)
    case .threads: .seconds(15 * 60)
    case .bookmarks, .messages: .seconds(10 * 60)
    case .posts, .message, .person: nil
    }
  }

  /// The name in the database.
  var name: String {
    switch self {
    case .forums: "forums"
    case .threads(let forum, let page): "threads \(forum) \(page)"
    case .bookmarks(let page): "bookmarks \(page)"
    case .posts(let thread, let page): "posts \(thread) \(page)"
    case .messages: "messages"
    case .message(let id): "message \(id)"
    case .person(let id): "person \(id)"
    }
  }

  var fetch: @Sendable (Database) throws -> ForumStore.Listed {
    let (sql, arguments) = query
    return { database in
      let lines = try Row.fetchAll(database, sql: sql, arguments: arguments).map { row in
        ForumStore.Line(
          id: row["number"], text: row["text"] ?? "", note: row["note"] ?? "", section: row["section"] ?? "",
          row: row["id"], isNew: row["new"] ?? false, index: row["place"] ?? 0,
          person: row["person"])
      }
      return ForumStore.Listed(
        lines: lines, pages: try pages(database), fetch: try Fetches.number(of: self, in: database))
    }
  }

  private func pages(_ database: Database) throws -> Int {
    switch self {
    case .threads(let id, _):
      try Int.fetchOne(database, sql: "SELECT pages FROM forum WHERE number = ?", arguments: [id]) ?? 1
    case .posts(let id, _):
      try Int.fetchOne(database, sql: "SELECT pages FROM thread WHERE number = ?", arguments: [id]) ?? 1
    case .bookmarks:
      try Int.fetchOne(database, sql: "SELECT CAST(text AS INTEGER) FROM note WHERE name = 'bookmark pages'") ?? 1
    case .forums, .messages, .message, .person: 1
    }
  }

  private var query: (String, StatementArguments) {
    switch self {
    case .forums:
      (
        """
        SELECT f.number, f.name AS text, f.about AS note, c.name AS section, f.id
        FROM forum AS f LEFT JOIN category AS c ON c.number = f.category
        WHERE f.place IS NOT NULL ORDER BY c.place, f.place
        """, []
      )
    case .threads(let forum, let page):
      (
        """
        SELECT number, title AS text,
          \(Listing.threadNote) || CASE WHEN bookmarked THEN ', bookmarked' ELSE '' END || \(Listing.lastNote) AS note, id
        FROM thread WHERE forum = ? AND page = ?
        ORDER BY sticky DESC, CASE WHEN sticky THEN place END, time DESC NULLS LAST, place
        """, [forum, page]
      )
    case .bookmarks(let page):
      (
        """
        SELECT number, title AS text, \(Listing.threadNote) || \(Listing.lastNote) AS note, id
        FROM thread WHERE bookmarkpage = ? ORDER BY time DESC NULLS LAST, bookmarkplace
        """, [page]
      )
    case .posts(let thread, let page):
      (
        """
        SELECT p.number, p.text,
          '#' || p.place || ' ' || p.author || \(Listing.optional(", ", "p.date"))
          || CASE WHEN p.ignored THEN ', ignored' ELSE '' END AS note,
          p.id, p.place > coalesce(t.seen, 0) AS new, p.place, p.userid AS person
        FROM post AS p LEFT JOIN thread AS t ON t.number = p.thread
        WHERE p.thread = ? AND p.page = ? ORDER BY p.place, p.id
        """, [thread, page]
      )
    case .messages:
      (
        """
        SELECT number, subject AS text, sender || \(Listing.optional(", ", "date")) AS note, id, NOT seen AS new
        FROM message WHERE place IS NOT NULL ORDER BY place
        """, []
      )
    case .message(let id):
      (
        """
        SELECT number, coalesce(text, 'not fetched yet') AS text, sender || \(Listing.optional(", ", "date")) AS note,
          subject AS section, id
        FROM message WHERE number = ?
        """, [id]
      )
    case .person(let id):
      (
        """
        SELECT number, coalesce(about, '') AS text,
          \(Listing.optional("", "title")) || coalesce(', ' || posts || ' posts', '')
          || \(Listing.optional(", since ", "joined")) AS note, name AS section, id
        FROM person WHERE number = ?
        """, [id]
      )
    }
  }

  private static let threadNote = """
    coalesce(author, '') || ', ' || replies || ' replies'
    || CASE WHEN coalesce(seen, 0) = 0 THEN '' WHEN seen > replies THEN ', read'
       ELSE ', ' || (replies + 1 - seen) || ' unread' END
    || CASE WHEN sticky THEN ', sticky' ELSE '' END || CASE WHEN closed THEN ', closed' ELSE '' END
    """

  private static let lastNote = "\(optional(", last post ", "lastpost")) || \(optional(" by ", "lastauthor"))"

  /// Returns SQL for a column with a prefix, or an empty text if the column is empty.
  private static func optional(_ head: String, _ column: String) -> String {
    "coalesce('\(head)' || nullif(\(column), ''), '')"
  }
}
