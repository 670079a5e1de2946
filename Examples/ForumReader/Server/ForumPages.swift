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
      "<div class=breadcrumbs><a href=/>The Forums</a> &gt; <a class=bclast href=#>\(forum.name)</a></div>\(Markup.menu(page, of: total, "forumdisplay.php?forumid=\(id)"))<table id=forum>\(rows.joined())</table>"
    )
  }

  /// The user's bookmarked threads, the one with the latest post first.
  func bookmarks(page: Int, _ person: Person) -> [UInt8] {
    let marked = bookmarks(of: person).sorted { $0 % 1000 < $1 % 1000 }
    let total = max(1, (marked.count + 39) / 40)
    let page = max(1, min(page, total))
    let rows = marked.dropFirst((page - 1) * 40).prefix(40).map { row($0, person) }
    return Markup.page(
      user: person, classes: "bookmark_threads",
      "\(Markup.links(page, of: total, "bookmarkthreads.php?action=view"))<table id=forum>\(rows.joined())</table>")
  }

  /// Returns whether the thread exists.
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
        ? "<a class=x href=#>X</a>"
        : "<a class=x href=#>X</a><a class=count href=#><b>\(ForumWorld.postsPerThread - seen)</b></a>"
    }
    // The last posts of consecutive threads are five hours apart; the first thread has had no reply for a while.
    let hours = number == 0 ? 9 : 700 - 5 * number
    let (day, hour) = (1 + hours / 24, hours % 24)
    // A space before a one-digit day, and the character that a change of charset has left in place of a space.
    let time =
      "\(hour < 10 ? "0" : "")\(hour):30 Jan\(number % 2 == 0 ? "\u{BF}" : " ")\(day < 10 ? " " : "")\(day), 2026"
    return """
      <tr class="thread\(number == 5 ? " closed" : "")" id=thread\(thread)>
      <td class="title\(number == 0 ? " title_sticky" : "")"><div class=lastseen>\(unread ?? "")</div>
      <a class=thread_title href="showthread.php?threadid=\(thread)&goto=1">\(title(thread))</a>
      <div class=title_pages>Pages: <a class=pagenumber href="showthread.php?threadid=\(thread)&amp;pagenumber=2">2</a></div>
      <td class=author><a href=member.php?userid=7>Zoë</a><td class=replies>\(ForumWorld.postsPerThread - 1)
      <td class=lastpost><div class=date>\(time)</div><a class=author href="showthread.php?goto=lastpost&threadid=\(thread)">\(number % 3 == 0 ? "ada" : "Zoë")</a>
      """
  }

  func thread(_ id: Int, page: Int, _ person: Person) -> [UInt8]? {
    guard hasThread(id) else { return nil }
    let total = (ForumWorld.postsPerThread + 39) / 40
    let page = max(1, min(page, total))
    let seen = seen(person, id) ?? 0
    let posts = ((page - 1) * 40 + 1...min(page * 40, ForumWorld.postsPerThread)).map { index -> String in
      // A post of an ignored member: without an index, and never marked as seen.
      if index % 40 == 13 {
        return
          "<table class=\"post ignored\" id=post\(id * 100 + index)><tr><td class=\"userinfo userid-13\"><dl><dt class=author>Mallory</dl><td class=postbody>You ignore this member.</table>"
      }
      let author = index % 2 == 0 ? (7, "Zoë") : (42, "ada")
      return """
        <table class="post " id=post\(id * 100 + index) data-idx=\(index)><tr class=\(index <= seen ? "seen1" : "altcolor1")>
        <td class="userinfo userid-\(author.0)"><dl><dt class="author op">\(author.1)<dd class=title>Countess</dl>
        <td class=postbody><!-- BeginContentMarker --><blockquote><h4>\(author.1) posted:</h4>Tea costs € \(index) & rising</blockquote>Answer \(index) of thread \(id):<br>na\u{EF}ve <b>but <i>bold</b> text</i> ☃ <img src=smile.gif title=":)"><script>alert("<p>")</script>
        <tr><td class=postdate><a href="#post\(id * 100 + index)">#</a> <a class=user_jump href="showthread.php?threadid=\(id)&userid=\(author.0)">\u{BF}</a> Jan \(1 + index % 28), 2026 10:\(10 + index % 50)</table>
        """
    }
    return Markup.page(
      user: person, forum: id / 1000, thread: id,
      "<a class=bclast href=#>\(title(id))</a>\(Markup.menu(page, of: total, "showthread.php?threadid=\(id)"))<div id=thread class=thread:\(id)>\(posts.joined(separator: "\n"))</div>"
    )
  }

  func messages(_ person: Person) -> [UInt8] {
    let rows = (1...3).map { number in
      """
      <tr><td class=status><img src="/images/\(number == 1 ? "newpm" : "pm").gif"><td class=title>\
      <a href="private.php?action=show&amp;privatemessageid=\(person.id)\(number)">A word to \(person.name), \(number)</a>\
      <td class=sender><a href=member.php?userid=0>Zoë</a><td class=date>Feb  \(number), 2026 at 21:30
      """
    }
    return Markup.page(
      user: person, classes: "privfolder",
      """
      <table class="standard full"><thead><tr><th class=title>Message Title<th class=sender>Sender<th class=date>Sent</thead>
      \(rows.joined())</table>
      """)
  }

  func message(_ id: Int, _ person: Person) -> [UInt8]? {
    guard id / 10 == person.id, (1...3).contains(id % 10) else { return nil }
    return Markup.page(
      user: person,
      """
      <div class=breadcrumbs><b><a href=private.php>Private Messages</a> &gt; A word to \(person.name), \(id % 10)</b></div>
      <div id=thread><table class=post><tr><td class=userinfo><dl class=userinfo><dt class=author><a href="member.php?action=getinfo&amp;userid=7">Zoë</a></dl>
      <td class=postbody>For <i>your</i> eyes only: note \(id).<tr><td class=postdate><img src="/images/pm.gif"> Feb  1, 2026 21:30</table></div>
      <form action=private.php method=post><input type=hidden name=privatemessageid value=\(id)></form>
      """)
  }

  func profile(_ id: Int, _ person: Person) -> [UInt8]? {
    guard let found = self.person(numbered: id) else { return nil }
    return Markup.page(
      user: person, classes: "getinfo",
      """
      <table class=standard><tr><td id=thread><dl class=userinfo><dt class=author>\(found.name)<dd class=registered>Dec 10, 2001<dd class=title>Countess</dl>
      <td class=info><h3>About \(found.name)</h3><p>Likes numbers.<p>And looms.
      <dl class=additional><dt>Post Count</dt><dd>1,815</dd></dl>
      <tr><td colspan=2><form action=/member2.php method=post><input type=hidden name=userid value=\(id)></form></table>
      """)
  }

  // MARK: Bans

  private static let reason = "Posted a bad pun"
  private static let end = "November 3, 2027"

  /// The page that a banned member sees after signing in: the reason and the end of the ban.
  static func banned() -> [UInt8] {
    Markup.page(
      user: nil, classes: "banned",
      "<h1>BANNED</h1><p>You have been banned until \(end) 8:45 p.m. CST. You cannot read or post until then.</p><p>Reason: \(reason)</p>"
    )
  }

  /// The page that a banned member sees everywhere else: only a link to the list of bans.
  static func bannedInPassing(_ person: Person) -> [UInt8] {
    Markup.page(
      user: nil, classes: "banned",
      "<h1>BANNED</h1><p><a href=\"/banlist.php?userid=\(person.id)&amp;actfilt=-1\">To check why you were banned, click here.</a></p>"
    )
  }

  func bans(of id: Int, _ person: Person) -> [UInt8]? {
    guard let found = self.person(numbered: id) else { return nil }
    let row = """
      <tr><td><b>BAN</b><td nowrap>11/01/26 08:26pm<td><b><a href="/member.php?action=getinfo&amp;userid=\(id)">\(found.name)</a></b>\
      <td>\(ForumWorld.reason).  User has been banned until \(ForumWorld.end).<td>Zoë<td>Zoë
      """
    return Markup.page(
      user: person, classes: "banlist",
      """
      <table class="standard full"><tr><th>Type<th>Date<th>Member<th>Punishment Reason<th>Requested By<th>Approved By
      \(isBanned(found) ? row : "")</table>
      """)
  }
}
#endif
