#if Programs
import Foundation
import HandstampCore
import HandstampSupport

/// The forum's data: users, sessions, and read positions. Threads are generated on demand and always the same.
final class ForumWorld: Sendable {
  struct Person: Sendable {
    var id: Int
    var name: String
    var password: String
    /// The end of the user's probation; `nil` if there is none.
    var probation: String?
  }
  enum Condition: String, Sendable { case up, down, closed }
  struct Content: Sendable {
    var people = [Person(id: 42, name: "ada", password: "lovelace"), Person(id: 7, name: "Zoë", password: "caf\u{E9}")]
    var sessions: [String: Int] = [:]
    var banned: Set<String> = []
    var seen: [String: Int] = [:]
    /// Bookmarked threads by user ID.
    var bookmarks: [Int: Set<Int>] = [:]
    var condition = Condition.up
    /// Lifetime of a login cookie, in seconds.
    var cookieLife = 365 * 86_400
  }
  private let content = Locked(Content())
  /// The file that stores the sessions, so that a restart signs no users out.
  private let file: String?

  init(file: String?) {
    self.file = file
    guard let file, let lines = try? String(contentsOfFile: file, encoding: .utf8) else { return }
    content.withLock { content in
      for line in lines.split(separator: "\n") {
        let parts = line.split(separator: " ")
        if parts.count == 2, let id = Int(parts[1]) { content.sessions[String(parts[0])] = id }
      }
    }
  }

  var condition: Condition { content.withLock { $0.condition } }
  var cookieLife: Int { content.withLock { $0.cookieLife } }
  func person(numbered id: Int) -> Person? { content.withLock { $0.people.first { $0.id == id } } }

  func signOut(_ session: String) {
    content.withLock { content in
      content.sessions[session] = nil
      keep(content)
    }
  }

  private func keep(_ content: Content) {
    guard let file else { return }
    let lines = content.sessions.map { "\($0) \($1)" }.sorted().joined(separator: "\n")
    try? lines.write(toFile: file, atomically: true, encoding: .utf8)
  }

  static let threadsPerForum = 55
  static let postsPerThread = 90

  func person(_ session: String?) -> Person? {
    guard let session else { return nil }
    return content.withLock { content in
      content.sessions[session].flatMap { id in content.people.first { $0.id == id } }
    }
  }

  func isBanned(_ person: Person) -> Bool { content.withLock { $0.banned.contains(person.name) } }

  /// Signs a user in. Returns `nil` if the name or the password is wrong.
  func signIn(_ name: String, _ password: String) -> (person: Person, session: String, isBanned: Bool)? {
    content.withLock { content in
      guard let person = content.people.first(where: { $0.name == name && $0.password == password }) else { return nil }
      let session = (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }.joined()
      let isBanned = content.banned.contains(name)
      if !isBanned { content.sessions[session] = person.id }
      keep(content)
      return (person, session, isBanned)
    }
  }

  /// Carries out a control command: `state=down`, `kick=ada`, `ban=ada`, `probate=ada`, `pardon=ada`, `life=3600`.
  func obey(_ command: String, _ value: String) -> Bool {
    content.withLock { content in
      switch command {
      case "state":
        guard let condition = Condition(rawValue: value) else { return false }
        content.condition = condition
      case "kick":
        let ids = content.people.filter { $0.name == value }.map(\.id)
        content.sessions = content.sessions.filter { !ids.contains($0.value) }
        keep(content)
      case "ban": content.banned.insert(value)
      case "probate", "pardon":
        if command == "pardon" { content.banned.remove(value) }
        for place in content.people.indices where content.people[place].name == value {
          content.people[place].probation = command == "probate" ? "September 21, 2027 8:45 PM CST" : nil
        }
      case "life":
        guard let seconds = Int(value), seconds > 0 else { return false }
        content.cookieLife = seconds
      default: return false
      }
      return true
    }
  }

  func seen(_ person: Person, _ thread: Int) -> Int? { content.withLock { $0.seen["\(person.id)/\(thread)"] } }

  func markSeen(_ person: Person, _ thread: Int, to index: Int) {
    content.withLock { $0.seen["\(person.id)/\(thread)"] = min(index, ForumWorld.postsPerThread) }
  }

  func bookmarks(of person: Person) -> Set<Int> { content.withLock { $0.bookmarks[person.id] ?? [] } }

  func bookmark(_ person: Person, _ thread: Int, _ isBookmarked: Bool) {
    content.withLock { content in
      if isBookmarked {
        content.bookmarks[person.id, default: []].insert(thread)
      } else {
        content.bookmarks[person.id]?.remove(thread)
      }
    }
  }
}
#endif
