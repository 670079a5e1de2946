#if Programs
/// The forum's pages.
extension ForumWorld {
  private static let categories: [(name: String, forums: [(id: Int, name: String)])] = [
    ("Main", [(1, "General Nonsense"), (26, "Engines & Looms")]), ("Discussion", [(3, "Caf\u{E9} “Analytique”")]),
    ("Archives", [(49, "Old Threads")]),
  ]

  func index(_ person: Person?) -> [UInt8] {
    let rows = ForumWorld.categories.enumerated().map { number, category in
      "<tr><th class=category colspan=3><a href=\"forumdisplay.php?forumid=\(40 + number)&s=\">\(category.name)</a>"
        + category.forums.map { forum in
          "<tr class=forum><td><a class=forum href='forumdisplay.php?s=&forumid=\(forum.id)' title=\"All about \(Markup.escaped(forum.name))\">\(forum.name)</a><td>1,204"
        }.joined(separator: "\n")
    }
    return Markup.page(user: person, "<table id=forums>\n\(rows.joined(separator: "\n"))</table>")
  }

  func forum(_ id: Int, page: Int, _ person: Person) -> [UInt8]? {
    guard let forum = ForumWorld.categories.flatMap(\.forums).first(where: { $0.id == id }) else { return nil }
    let total = (ForumWorld.threadsPerForum + 39) / 40
    let page = max(1, min(page, total))
    let rows = ((page - 1) * 40..<min(page * 40, ForumWorld.threadsPerForum)).map { row(id * 1000 + $0, person) }
    return Markup.page(
      user: person, forum: id,
      "<div class=breadcrumbs><a href=/>The Forums</a> &gt; <a href=#>\(forum.name)</a></div>\(Markup.pages(page, of: total))<table id=forum>\(rows.joined())</table>"
    )
  }

  /// The threads that the person has bookmarked, the one of the latest post first.
  func bookmarks(page: Int, _ person: Person) -> [UInt8] {
    let marked = bookmarks(of: person).sorted { $0 % 1000 < $1 % 1000 }
    let total = max(1, (marked.count + 39) / 40)
    let page = max(1, min(page, total))
    let rows = marked.dropFirst((page - 1) * 40).prefix(40).map { row($0, person) }
    return Markup.page(
      user: person, classes: "bookmark_threads",
      "\(Markup.pages(page, of: total))<table id=forum>\(rows.joined())</table>")
  }

  /// Whether there is such a thread.
  func hasThread(_ id: Int) -> Bool {
    id % 1000 < ForumWorld.threadsPerForum && ForumWorld.categories.flatMap(\.forums).contains { $0.id == id / 1000 }
  }

  private func title(_ thread: Int) -> String {
    let forum = ForumWorld.categories.flatMap(\.forums).first { $0.id == thread / 1000 }
    return "\(forum?.name ?? ""): question \(thread % 1000) – who’s there?"
  }

  private func row(_ thread: Int, _ person: Person) -> String {
    let number = thread % 1000
    let unread = seen(person, thread).map { seen in
      seen >= ForumWorld.postsPerThread
        ? "<a class=x href=#>X" : "<a class=count href=#><b>\(ForumWorld.postsPerThread - seen)</b></a>"
    }
    // Five hours lie between one thread's last post and the next one's; nobody has answered the first for long.
    let hours = number == 0 ? 9 : 700 - 5 * number
    let time = "\((hours + 11) % 12 + 1):30 \(hours % 24 < 12 ? "AM" : "PM") Jan \(1 + hours / 24), 2026"
    return """
      <tr class="thread\(number == 0 ? " sticky" : "")\(number == 5 ? " closed" : "")" id=thread\(thread)>
      <td class=title><a class=thread_title href="showthread.php?threadid=\(thread)&goto=1">\(title(thread))</a> \(unread ?? "")
      <td class=author><a href=member.php?userid=7>Zoë</a><td class=replies>\(ForumWorld.postsPerThread - 1)<td class=lastpost>\(time)
      """
  }

  func thread(_ id: Int, page: Int, _ person: Person) -> [UInt8]? {
    guard hasThread(id) else { return nil }
    let total = (ForumWorld.postsPerThread + 39) / 40
    let page = max(1, min(page, total))
    let seen = seen(person, id) ?? 0
    let posts = ((page - 1) * 40 + 1...min(page * 40, ForumWorld.postsPerThread)).map { index -> String in
      // Somebody whom nobody wants to read: without a number, and never marked as seen.
      if index % 40 == 13 {
        return
          "<table class=\"post ignored\" id=post\(id * 100 + index)><tr><td class=\"userinfo userid-13\"><dl><dt class=author>Mallory</dl><td class=postbody>You ignore this member.</table>"
      }
      let author = index % 2 == 0 ? (7, "Zoë") : (42, "ada")
      return """
        <table class="post" id=post\(id * 100 + index) data-idx=\(index)><tr class=\(index <= seen ? "seen1" : "altcolor1")>
        <td class="userinfo userid-\(author.0)"><dl><dt class="author op">\(author.1)<dd class=title>Countess</dl>
        <td class=postbody><!-- BeginContentMarker --><blockquote><h4>\(author.1) posted:</h4>Tea costs € \(index) & rising</blockquote>Answer \(index) of thread \(id):<br>na\u{EF}ve <b>but <i>bold</b> text</i> ☃ <img src=smile.gif title=":)"><script>alert("<p>")</script>
        <tr><td class=postdate>Jan \(1 + index % 28), 2026 10:\(10 + index % 50)</table>
        """
    }
    return Markup.page(
      user: person, forum: id / 1000, thread: id,
      "<a class=bclast href=#>\(title(id))</a>\(Markup.pages(page, of: total))<div id=thread>\(posts.joined(separator: "\n"))</div>"
    )
  }

  func messages(_ person: Person) -> [UInt8] {
    let rows = (1...3).map { number in
      "<tr class=\(number == 1 ? "new" : "old")><td class=title><a href=private.php?action=show&privatemessageid=\(person.id)\(number)>A word to \(person.name), \(number)</a><td class=sender>Zoë<td class=date>Feb \(number), 2026"
    }
    return Markup.page(user: person, "<table id=messages>\(rows.joined())</table>")
  }

  func message(_ id: Int, _ person: Person) -> [UInt8]? {
    guard id / 10 == person.id, (1...3).contains(id % 10) else { return nil }
    return Markup.page(
      user: person,
      "<div id=message data-message=\(id)><h2 class=subject>A word to \(person.name), \(id % 10)</h2><table><tr><td class=userid-7><b class=author>Zoë</b><td class=postbody>For <i>your</i> eyes only: note \(id).<tr><td class=postdate>Feb 1, 2026</table></div>"
    )
  }

  func profile(_ id: Int, _ person: Person) -> [UInt8]? {
    guard let found = self.person(numbered: id) else { return nil }
    return Markup.page(
      user: person,
      "<div id=profile data-user=\(id)><b class=author>\(found.name)</b><i class=title>Countess</i><b class=registered>Dec 10, 2001</b><b class=posts>1,815</b><div class=about>Likes numbers.<br>And looms.</div></div>"
    )
  }
}
#endif
