import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `A list on a plain terminal` {
  private var threads = Screen(.threads(forum: "1", page: 2))
  private let tea = ForumStore.Line(id: "1", text: "Tea", note: "ada, 3 replies")
  private let cake = ForumStore.Line(id: "2", text: "Cake", note: "Zoë, 5 replies")

  @Test mutating func `is printed in full at first, then only its changes`() {
    #expect(
      threads.update(.init(lines: [tea, cake], pages: 3)) == [
        "1. Tea (ada, 3 replies)", "2. Cake (Zoë, 5 replies)", "page 2 of 3",
      ])
    #expect(threads.update(.init(lines: [tea, cake], pages: 3, fetch: 9)) == [])
    var changed = cake
    changed.note = "Zoë, 6 replies"
    #expect(
      threads.update(.init(lines: [tea, changed], pages: 3)) == ["changed:", "2. Cake (Zoë, 6 replies)"])
    #expect(threads.update(.init(lines: [tea, changed], pages: 4)) == ["page 2 of 4"])
  }

  @Test mutating func `is printed again if its numbers refer to other rows`() {
    _ = threads.update(.init(lines: [tea, cake]))
    #expect(
      threads.update(.init(lines: [cake, tea])) == [
        "1. Cake (Zoë, 5 replies)", "2. Tea (ada, 3 replies)", "page 2 of 1",
      ])
    #expect(threads.update(.init(lines: [tea])) == ["1. Tea (ada, 3 replies)", "page 2 of 1"])
    #expect(threads.update(.init(lines: [])) == ["nothing here any more"])
    #expect(threads.update(.init(lines: [cake])).first == "1. Cake (Zoë, 5 replies)")
  }

  @Test func `does not announce posts that were just read`() {
    var screen = Screen(.posts(thread: "1", page: 1))
    var post = ForumStore.Line(id: "1", text: "Words", note: "#1 ada", isNew: true)
    #expect(screen.update(.init(lines: [post])).first == "-- #1 ada *\nWords")
    post.isNew = false
    #expect(screen.update(.init(lines: [post])) == [])
  }
}
