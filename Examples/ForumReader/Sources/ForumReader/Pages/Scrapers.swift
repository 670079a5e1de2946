extension ForumIndex: Scraped {
  public init(_ page: HTMLPage) throws {
    let table = try page.required("//table[@id='forums']", "table of forums")
    var categories: [Category] = []
    for row in table.all(".//tr") {
      if let link = row.first(".//th[contains(@class, 'category')]//a"), let id = link.id("forumid") {
        categories.append(Category(id: id, name: link.text, forums: []))
      } else if let link = row.first(".//a[contains(@class, 'forum')]"), let id = link.id("forumid") {
        let forum = Forum(id: id, name: link.text, about: link["title"] ?? "")
        if categories.isEmpty { categories.append(Category(id: "none", name: "", forums: [])) }
        categories[categories.count - 1].forums.append(forum)
      }
    }
    self.init(categories: categories, user: page.user)
  }
}

extension ThreadList: Scraped {
  public init(_ page: HTMLPage) throws {
    let body = try page.required("//body", "body")
    guard let forum = body["data-forum"].flatMap({ HTMLNode.id($0) }) else { throw ScrapeError.missing("forum") }
    let table = try page.required("//table[@id='forum']", "table of threads")
    self.init(
      forum: forum, title: page.first("//div[@class='breadcrumbs']//a[last()]")?.text ?? "",
      threads: Item.all(in: table), pages: page.pageNumbers)
  }
}

extension BookmarkList: Scraped {
  public init(_ page: HTMLPage) throws {
    // Any list of threads looks like it; taken for this one it would undo all bookmarks.
    guard try page.required("//body", "body").classes.contains("bookmark_threads") else {
      throw ScrapeError.missing("page of bookmarks")
    }
    let table = try page.required("//table[@id='forum']", "table of threads")
    self.init(threads: ThreadList.Item.all(in: table), pages: page.pageNumbers)
  }
}

extension ThreadList.Item {
  fileprivate static func all(in table: HTMLNode) -> [ThreadList.Item] {
    table.all(".//tr[contains(@class, 'thread')]").compactMap { row in
      guard let id = row.id(after: "thread", of: "id"), let link = row.first(".//a[@class='thread_title']") else {
        return nil
      }
      return ThreadList.Item(
        id: id, title: link.text, author: row.first(".//td[@class='author']")?.text ?? "",
        replies: count(row.first(".//td[@class='replies']")?.text),
        unread: row.first(".//a[@class='count']").map { count($0.text) }
          ?? (row.first(".//a[@class='x']") == nil ? nil : 0),
        isSticky: row.classes.contains("sticky"), isClosed: row.classes.contains("closed"),
        lastPost: ForumDate(row.first(".//td[@class='lastpost']")?.text ?? ""))
    }
  }
}

extension PostsPage: Scraped {
  public init(_ page: HTMLPage) throws {
    let body = try page.required("//body", "body")
    guard let thread = body["data-thread"].flatMap({ HTMLNode.id($0) }) else { throw ScrapeError.missing("thread") }
    let box = try page.required("//div[@id='thread']", "posts")
    let posts = box.all(".//table[contains(@class, 'post')]").compactMap { table -> Post? in
      guard let id = table.id(after: "post", of: "id") else { return nil }
      let name = table.first(".//*[contains(@class, 'author')]")
      let author = table.first(".//*[contains(@class, 'userid-')]")?.classes.first { $0.hasPrefix("userid-") }
      return Post(
        id: id, index: count(table["data-idx"]),
        author: ForumUser(id: author.flatMap { HTMLNode.id($0.dropFirst(7)) } ?? "", name: name?.text ?? ""),
        date: ForumDate(table.first(".//td[@class='postdate']")?.text ?? ""),
        text: table.first(".//td[@class='postbody']")?.lines ?? "",
        isSeen: table.first(".//tr[@class='seen1' or @class='seen2']") != nil,
        isIgnored: table.classes.contains("ignored"))
    }
    self.init(
      thread: thread, forum: body["data-forum"].flatMap { HTMLNode.id($0) } ?? "",
      title: page.first("//a[@class='bclast']")?.text ?? "", posts: posts, pages: page.pageNumbers)
    fillGaps()
  }

  /// The forum neither numbers a post that is ignored nor marks it as seen: both follow from the posts around it.
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
      // Whoever read on beyond it has passed it, too.
      let others = place > 0 ? posts[place - 1] : posts.first { !$0.isIgnored }
      posts[place].isSeen = others?.isSeen ?? false
    }
  }
}

extension ProfilePage: Scraped {
  public init(_ page: HTMLPage) throws {
    let box = try page.required("//*[@id='profile']", "profile")
    guard let id = box["data-user"].flatMap({ HTMLNode.id($0) }) else { throw ScrapeError.missing("user id") }
    let name = try page.required("//*[@id='profile']//*[contains(@class, 'author')]", "user name")
    self.init(
      user: ForumUser(id: id, name: name.text), title: box.first(".//*[@class='title']")?.text ?? "",
      joined: ForumDate(box.first(".//*[@class='registered']")?.text ?? ""),
      posts: count(box.first(".//*[@class='posts']")?.text),
      about: box.first(".//*[@class='about']")?.lines ?? "")
  }
}

extension MessageList: Scraped {
  public init(_ page: HTMLPage) throws {
    let table = try page.required("//table[@id='messages']", "table of messages")
    self.init(
      messages: table.all(".//tr").compactMap { row -> Item? in
        guard let link = row.first(".//td[@class='title']//a"), let id = link.id("privatemessageid") else { return nil }
        return Item(
          id: id, subject: link.text, sender: row.first(".//td[@class='sender']")?.text ?? "",
          date: ForumDate(row.first(".//td[@class='date']")?.text ?? ""), isSeen: !row.classes.contains("new"))
      })
  }
}

extension MessagePage: Scraped {
  public init(_ page: HTMLPage) throws {
    let box = try page.required("//*[@id='message']", "message")
    guard let id = box.id(after: "", of: "data-message") else { throw ScrapeError.missing("message id") }
    let author = box.first(".//*[contains(@class, 'userid-')]")?.classes.first { $0.hasPrefix("userid-") }
    self.init(
      id: id, subject: box.first(".//*[@class='subject']")?.text ?? "",
      sender: ForumUser(
        id: author.flatMap { HTMLNode.id($0.dropFirst(7)) } ?? "",
        name: box.first(".//*[contains(@class, 'author')]")?.text ?? ""),
      date: ForumDate(box.first(".//td[@class='postdate']")?.text ?? ""),
      text: try { () throws -> String in
        guard let body = box.first(".//td[@class='postbody']") else { throw ScrapeError.missing("text of the message") }
        return body.lines
      }())
  }
}
