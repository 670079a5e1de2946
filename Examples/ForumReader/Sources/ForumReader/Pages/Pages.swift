/// The content of the forum's pages as values. IDs are opaque.
public struct ForumIndex: Sendable, Hashable {
  public struct Category: Sendable, Hashable {
    public var id: String
    public var name: String
    public var forums: [Forum]
  }
  public struct Forum: Sendable, Hashable {
    public var id: String
    public var name: String
    public var about: String
  }
  public var categories: [Category]
  /// The signed-in member; `nil` if the page names none.
  public var user: ForumUser?
}

public struct ForumUser: Sendable, Hashable {
  public var id: String
  public var name: String

  public init(id: String, name: String) {
    self.id = id
    self.name = name
  }
}

/// The position of a page in a list, counted from 1.
public struct PageNumbers: Sendable, Hashable {
  public var current: Int
  public var total: Int

  public init(current: Int = 1, total: Int = 1) {
    self.current = current
    self.total = total
  }
}

public struct ThreadList: Sendable, Hashable {
  public struct Item: Sendable, Hashable {
    public var id: String
    public var title: String
    public var author: String
    public var replies: Int
    /// `nil` if the thread was never opened.
    public var unread: Int?
    public var isSticky: Bool
    public var isClosed: Bool
    public var lastPost: ForumDate
    /// The author of the last post; empty if the list names none.
    public var lastAuthor = ""
  }
  public var forum: String
  public var title: String
  public var threads: [Item]
  public var pages: PageNumbers
}

/// A page of the account's bookmarked threads.
public struct BookmarkList: Sendable, Hashable {
  public var threads: [ThreadList.Item]
  public var pages: PageNumbers
}

public struct PostsPage: Sendable, Hashable {
  public struct Post: Sendable, Hashable {
    public var id: String
    /// Counted from 1, across the thread's pages.
    public var index: Int
    public var author: ForumUser
    public var date: ForumDate
    public var text: String
    public var isSeen: Bool
    /// Whether the account ignores the author. ``text`` is then the forum's placeholder.
    public var isIgnored: Bool

    public init(
      id: String, index: Int, author: ForumUser, date: ForumDate, text: String, isSeen: Bool, isIgnored: Bool = false
    ) {
      self.id = id
      self.index = index
      self.author = author
      self.date = date
      self.text = text
      self.isSeen = isSeen
      self.isIgnored = isIgnored
    }
  }
  public var thread: String
  public var forum: String
  public var title: String
  public var posts: [Post]
  public var pages: PageNumbers

  public init(thread: String, forum: String, title: String, posts: [Post], pages: PageNumbers) {
    self.thread = thread
    self.forum = forum
    self.title = title
    self.posts = posts
    self.pages = pages
  }
}

public struct ProfilePage: Sendable, Hashable {
  public var user: ForumUser
  public var title: String
  public var joined: ForumDate
  public var posts: Int
  public var about: String
}

public struct MessageList: Sendable, Hashable {
  public struct Item: Sendable, Hashable {
    public var id: String
    public var subject: String
    public var sender: String
    public var date: ForumDate
    public var isSeen: Bool
  }
  public var messages: [Item]
}

public struct MessagePage: Sendable, Hashable {
  public var id: String
  public var subject: String
  public var sender: ForumUser
  public var date: ForumDate
  public var text: String
}
