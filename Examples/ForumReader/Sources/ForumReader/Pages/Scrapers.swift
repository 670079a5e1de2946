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
    let threads = table.all(".//tr[contains(@class, 'thread')]").compactMap { row -> Item? in
      guard let id = row.id(after: "thread", of: "id"), let link = row.first(".//a[@class='thread_title']") else {
        return nil
      }
      return Item(
        id: id, title: link.text, author: row.first(".//td[@class='author']")?.text ?? "",
        replies: count(row.first(".//td[@class='replies']")?.text),
        unread: row.first(".//a[@class='count']").map { count($0.text) }
          ?? (row.first(".//a[@class='x']") == nil ? nil : 0),
        isSticky: row.classes.contains("sticky"), isClosed: row.classes.contains("closed"),
        lastPost: row.first(".//td[@class='lastpost']")?.text ?? "")
    }
    self.init(
      forum: forum, title: page.first("//div[@class='breadcrumbs']//a[last()]")?.text ?? "", threads: threads,
      pages: page.pageNumbers)
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
        date: table.first(".//td[@class='postdate']")?.text ?? "",
        text: table.first(".//td[@class='postbody']")?.lines ?? "",
        isSeen: table.first(".//tr[@class='seen1' or @class='seen2']") != nil)
    }
    self.init(
      thread: thread, forum: body["data-forum"].flatMap { HTMLNode.id($0) } ?? "",
      title: page.first("//a[@class='bclast']")?.text ?? "", posts: posts, pages: page.pageNumbers)
  }
}

extension ProfilePage: Scraped {
  public init(_ page: HTMLPage) throws {
    let box = try page.required("//*[@id='profile']", "profile")
    guard let id = box["data-user"].flatMap({ HTMLNode.id($0) }) else { throw ScrapeError.missing("user id") }
    let name = try page.required("//*[@id='profile']//*[contains(@class, 'author')]", "user name")
    self.init(
      user: ForumUser(id: id, name: name.text), title: box.first(".//*[@class='title']")?.text ?? "",
      joined: box.first(".//*[@class='registered']")?.text ?? "", posts: count(box.first(".//*[@class='posts']")?.text),
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
          date: row.first(".//td[@class='date']")?.text ?? "", isSeen: !row.classes.contains("new"))
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
      date: box.first(".//td[@class='postdate']")?.text ?? "",
      text: try { () throws -> String in
        guard let body = box.first(".//td[@class='postbody']") else { throw ScrapeError.missing("text of the message") }
        return body.lines
      }())
  }
}
