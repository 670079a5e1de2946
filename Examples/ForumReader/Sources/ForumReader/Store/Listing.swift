import GRDB
import HandstampData

/// What can be listed.
public enum Listing: Sendable, Hashable {
  case forums
  case threads(forum: String, page: Int)
  case posts(thread: String, page: Int)
  case messages
  case message(String)
  case person(String)

  var shelf: Shelf {
    switch self {
    case .forums: .forum
    case .threads: .thread
    case .posts: .post
    case .messages, .message: .message
    case .person: .person
    }
  }

  var fetch: @Sendable (Database) throws -> [ForumStore.Line] {
    let (sql, arguments) = query
    return { database in
      try Row.fetchAll(database, sql: sql, arguments: arguments).map { row in
        ForumStore.Line(id: row[0], text: row[1] ?? "", note: row[2] ?? "", section: row[3] ?? "", row: row[4])
      }
    }
  }

  private var query: (String, StatementArguments) {
    switch self {
    case .forums:
      (
        """
        SELECT f.number, f.name, f.about, c.name, f.id FROM forum AS f LEFT JOIN category AS c ON c.number = f.category
        WHERE f.place IS NOT NULL ORDER BY c.place, f.place
        """, []
      )
    case .threads(let forum, let page):
      (
        """
        SELECT number, title,
          author || ', ' || replies || ' replies'
          || CASE WHEN unread IS NULL THEN '' WHEN unread = 0 THEN ', read' ELSE ', ' || unread || ' unread' END
          || CASE WHEN sticky THEN ', sticky' ELSE '' END || CASE WHEN closed THEN ', closed' ELSE '' END,
          '', id
        FROM thread WHERE forum = ? AND page = ? ORDER BY place
        """, [forum, page]
      )
    case .posts(let thread, let page):
      (
        """
        SELECT number, text,
          '#' || place || ' ' || author || \(Listing.optional(", ", "date")) || CASE WHEN seen THEN '' ELSE ' *' END,
          '', id
        FROM post WHERE thread = ? AND page = ? ORDER BY place
        """, [thread, page]
      )
    case .messages:
      (
        """
        SELECT number, subject,
          sender || \(Listing.optional(", ", "date")) || CASE WHEN seen THEN '' ELSE ', new' END, '', id
        FROM message WHERE place IS NOT NULL ORDER BY place
        """, []
      )
    case .message(let id):
      (
        """
        SELECT number, coalesce(text, 'not fetched yet'), sender || \(Listing.optional(", ", "date")), subject, id
        FROM message WHERE number = ?
        """, [id]
      )
    case .person(let id):
      (
        """
        SELECT number, coalesce(about, ''),
          \(Listing.optional("", "title")) || coalesce(', ' || posts || ' posts', '')
          || \(Listing.optional(", since ", "joined")), name, id
        FROM person WHERE number = ?
        """, [id]
      )
    }
  }

  /// A column with something before it, or nothing where it is empty.
  private static func optional(_ head: String, _ column: String) -> String {
    "coalesce('\(head)' || nullif(\(column), ''), '')"
  }
}
