extension ForumIndex: Scraped {
  public init(_ page: HTMLPage) throws {
    let table = try page.required("//table[@id='forums']", "table of forums")
    var categories: [Category] = []
    for row in table.all(".//tr") {
      if let link = row.first(".//th[\(having("category"))]//a"), let id = link.id("forumid") {
        categories.append(Category(id: id, name: link.text, forums: []))
        continue
      }
      // A forum and, in the same row, its subforums.
      for link in row.all(".//a[contains(@class, 'forum')]") {
        guard let id = link.id("forumid"), link.classes.contains(where: { $0 == "forum" || $0.hasPrefix("forum_") })
        else { continue }
        if categories.isEmpty { categories.append(Category(id: "none", name: "", forums: [])) }
        let forum = Forum(id: id, name: link.text, about: link["title"] ?? "")
        categories[categories.count - 1].forums.append(forum)
      }
    }
    // An empty list would remove all forums from the store.
    guard categories.contains(where: { !$0.forums.isEmpty }) else { throw ScrapeError.missing("forums") }
    self.init(categories: categories, user: page.user)
  }
}

extension ThreadList: Scraped {
  public init(_ page: HTMLPage) throws {
    guard let forum = try page.forum else { throw ScrapeError.missing("forum") }
    let table = try page.required("//table[@id='forum']", "table of threads")
    let threads = Item.all(in: table)
    // A forum may be empty, but not if it has threads that cannot be parsed.
    if threads.isEmpty, table.first(".//a[contains(@href, 'threadid=')]") != nil {
      throw ScrapeError.missing("threads")
    }
    let title = page.breadcrumb ?? page.first("//div[\(having("breadcrumbs"))]//a[last()]")
    self.init(forum: forum, title: title?.text ?? "", threads: threads, pages: try PageBar.numbers(page))
  }
}

extension BookmarkList: Scraped {
  public init(_ page: HTMLPage) throws {
    // Any list of threads looks similar, and mistaken for this one would remove all bookmarks.
    guard
      try page.required("//body", "body").classes.contains("bookmark_threads")
        || page.first("//form[@name='bookmarks']") != nil
    else { throw ScrapeError.missing("page of bookmarks") }
    let table = try page.required("//table[@id='forum']", "table of threads")
    let threads = ThreadList.Item.all(in: table)
    // A row that cannot be parsed would be mistaken for a removed bookmark.
    let rows = table.all(".//tr[.//a[contains(@href, 'threadid=') or \(having("thread_title"))]]")
    guard rows.count <= threads.count else { throw ScrapeError.missing("thread in each row") }
    self.init(threads: threads, pages: try PageBar.numbers(page))
  }
}

extension ThreadList.Item {
  fileprivate static func all(in table: HTMLNode) -> [ThreadList.Item] {
    table.all(".//tr[\(having("thread"))]").compactMap { row in
      guard let id = row.id(after: "thread", of: "id"), let link = row.first(".//a[\(having("thread_title"))]") else {
        return nil
      }
      let last = row.first(".//td[\(having("lastpost"))]")
      return ThreadList.Item(
        id: id, title: link.text, author: row.first(".//td[\(having("author"))]")?.text ?? "",
        replies: count(row.first(".//td[\(having("replies"))]")?.text),
        unread: row.first(".//a[\(having("count"))]").map { count($0.text) }
          ?? (row.first(".//a[\(having("x"))]") == nil ? nil : 0),
        isSticky: row.classes.contains("sticky") || row.first(".//td[\(having("title_sticky"))]") != nil,
        isClosed: row.classes.contains("closed"),
        lastPost: ForumDate((last?.first(".//div[\(having("date"))]") ?? last)?.dateText ?? ""),
        lastAuthor: last?.first(".//*[\(having("author"))]")?.text ?? "")
    }
  }
}

extension PostsPage: Scraped {
  public init(_ page: HTMLPage) throws {
    let body = try page.required("//body", "body")
    let box = page.first("//div[@id='thread']")
    guard
      let thread = body["data-thread"].flatMap({ HTMLNode.id($0) }) ?? body.id(afterClass: "thread_")
        ?? box?.id(afterClass: "thread:") ?? page.breadcrumb?.id("threadid")
    else { throw ScrapeError.missing("thread") }
    guard let box else { throw ScrapeError.missing("posts") }
    let tables = box.all(".//table[\(having("post"))]")
    let posts = tables.compactMap(Post.init)
    // A thread has posts, and one that cannot be parsed would be mistaken for a removed one.
    guard !posts.isEmpty, posts.count == tables.count else { throw ScrapeError.missing("posts") }
    self.init(
      thread: thread, forum: try page.forum ?? "", title: page.breadcrumb?.text ?? "", posts: posts,
      pages: try PageBar.numbers(page))
    fillGaps()
  }

  /// Completes ignored posts, which the forum neither numbers nor marks as seen, from the posts around them.
  private mutating func fillGaps() {
    let first = posts.firstIndex { $0.index > 0 }
    if let first {
      for place in (0..<first).reversed() { posts[place].index = max(1, posts[place + 1].index - 1) }
    } else if !posts.isEmpty {
      posts[0].index = (pages.current - 1) * ThreadCounts.pageSize + 1
    }
    for place in posts.indices.dropFirst((first ?? 0) + 1) where posts[place].index == 0 {
      posts[place].index = posts[place - 1].index + 1
    }
    for place in posts.indices where posts[place].isIgnored {
      // Reading beyond an ignored post passes it, too.
      let others = place > 0 ? posts[place - 1] : posts.first { !$0.isIgnored }
      posts[place].isSeen = others?.isSeen ?? false
    }
  }
}

extension PostsPage.Post {
  fileprivate init?(_ table: HTMLNode) {
    guard let id = table.id(after: "post", of: "id") else { return nil }
    let isIgnored = table.classes.contains("ignored")
    let text = table.first(".//td[\(having("postbody"))]")?.lines ?? ""
    self.init(
      id: id, index: count(table["data-idx"]), author: ForumUser(author: table),
      date: ForumDate(table.first(".//td[\(having("postdate"))]")?.dateText ?? ""),
      // An empty text would keep the text stored before the member was ignored.
      text: text.isEmpty && isIgnored ? "You ignore this member." : text,
      isSeen: table.first(".//tr[\(having("seen1")) or \(having("seen2"))]") != nil, isIgnored: isIgnored)
  }
}

extension ForumUser {
  /// The author shown beside a post or a message.
  fileprivate init(author box: HTMLNode) {
    let name = box.first(".//*[\(having("author"))]")
    let id =
      box.first(".//*[contains(@class, 'userid-')]")?.id(afterClass: "userid-")
      ?? name?.first("./descendant-or-self::a[@href]")?.id("userid")
    self.init(id: id ?? "", name: name?.text ?? "")
  }
}

extension ProfilePage: Scraped {
  public init(_ page: HTMLPage) throws {
    let box = try page.required("//*[@id='profile'] | //table[.//td[\(having("info"))]][.//dl]", "profile")
    let about = box.first(".//td[\(having("info"))]")
    // The member is named by the forms to befriend or ignore them, and by the links to their posts.
    guard
      let id = box["data-user"].flatMap({ HTMLNode.id($0) })
        ?? box.first(".//input[@name='userid']")?["value"].flatMap({ HTMLNode.id($0) })
        ?? box.first(".//a[contains(@href, 'userid=')]")?.id("userid")
    else { throw ScrapeError.missing("user id") }
    guard let name = box.first(".//*[\(having("author"))]") else { throw ScrapeError.missing("user name") }
    let posts =
      box.first(".//*[\(having("posts"))]")
      ?? about?.first(".//dt[normalize-space(.)='Post Count']/following-sibling::dd")
    self.init(
      user: ForumUser(id: id, name: name.text), title: box.first(".//*[\(having("title"))]")?.text ?? "",
      joined: ForumDate(box.first(".//*[\(having("registered"))]")?.dateText ?? ""), posts: count(posts?.text),
      about: box.first(".//*[\(having("about"))]")?.lines
        ?? about?.all(".//p").map(\.line).joined(separator: "\n") ?? "")
  }
}

extension MessageList: Scraped {
  public init(_ page: HTMLPage) throws {
    let table = try page.required(
      "//table[@id='messages'] | //table[\(having("standard"))][.//th[\(having("sender"))]]", "table of messages")
    messages = table.all(".//tr").compactMap { row -> Item? in
      guard let link = row.first(".//td[\(having("title"))]//a"), let id = link.id("privatemessageid") else {
        return nil
      }
      let icon = row.first(".//td[\(having("status"))]//img")?["src"] ?? ""
      return Item(
        id: id, subject: link.text, sender: row.first(".//td[\(having("sender"))]")?.text ?? "",
        date: ForumDate(row.first(".//td[\(having("date"))]")?.dateText ?? ""),
        isSeen: !row.classes.contains("new") && !icon.contains("newpm"))
    }
    // A row that cannot be parsed would be mistaken for a removed message.
    let rows = table.all(".//tr[.//a[contains(@href, 'privatemessageid=')]]")
    guard rows.count <= messages.count else { throw ScrapeError.missing("message in each row") }
  }
}

extension MessagePage: Scraped {
  public init(_ page: HTMLPage) throws {
    let own = page.first("//*[@id='message']")
    let box = try own ?? page.required("//*[@id='thread'][.//td[\(having("postbody"))]]", "message")
    guard
      let id = own.map({ $0.id(after: "", of: "data-message") })
        ?? page.first("//input[@name='privatemessageid']")?["value"].flatMap({ HTMLNode.id($0) })
        ?? page.first("//div[\(having("buttons"))]//a[contains(@href, 'privatemessageid=')]")?.id("privatemessageid")
    else { throw ScrapeError.missing("message id") }
    guard let body = box.first(".//td[\(having("postbody"))]") else { throw ScrapeError.missing("text of the message") }
    // The last text of the breadcrumbs.
    let path = page.all("//div[\(having("breadcrumbs"))]//text()[not(ancestor::a)]").last?.text ?? ""
    self.init(
      id: id, subject: own == nil ? MessagePage.subject(path) : box.first(".//*[\(having("subject"))]")?.text ?? "",
      sender: ForumUser(author: box),
      date: ForumDate(box.first(".//td[\(having("postdate"))]")?.dateText ?? ""), text: body.lines)
  }

  /// Returns the text after the `>` that follows the last link.
  private static func subject(_ path: String) -> String {
    String(path.drop { $0 == ">" || $0 == " " })
  }
}

extension HTMLPage {
  /// The last link in the breadcrumbs, which leads to the content of the page.
  fileprivate var breadcrumb: HTMLNode? { first("//a[\(having("bclast"))]") }

  /// The forum to which the page belongs.
  fileprivate var forum: String? {
    get throws {
      let body = try required("//body", "body")
      return body["data-forum"].flatMap { HTMLNode.id($0) } ?? body.id(afterClass: "forum_")
        ?? all("//div[\(having("breadcrumbs"))]//a[contains(@href, 'forumid=')]").last?.id("forumid")
    }
  }
}
