/// The length of a thread, and how much of it was read. Each page reveals a part, and raises the minimum of the others.
struct ThreadCounts: Sendable, Hashable {
  /// The number of posts per page.
  static let pageSize = 40

  /// Not counting the first post.
  private(set) var replies: Int
  private(set) var pages: Int
  /// The number of posts up to the last one read; 0 if the thread was never opened.
  private(set) var seen: Int

  init(replies: Int = 0, pages: Int = 1, seen: Int = 0) {
    self.replies = max(0, replies)
    self.pages = max(1, pages)
    self.seen = max(0, seen)
  }

  /// The number of unread posts; `nil` if the thread was never opened.
  var unread: Int? { seen > 0 ? max(0, replies + 1 - seen) : nil }

  mutating func set(pages: Int) {
    self.pages = max(1, pages)
    replies = max(replies, (self.pages - 1) * ThreadCounts.pageSize)
  }

  mutating func set(replies: Int) {
    self.replies = max(0, replies)
    pages = max(pages, 1 + self.replies / ThreadCounts.pageSize)
  }

  mutating func set(seen: Int) {
    self.seen = max(0, seen)
    reach(self.seen)
  }

  /// Updates the counts from a page of posts: the minimum number of posts, and the two posts between which reading
  /// stopped.
  mutating func see(_ posts: [PostsPage.Post]) {
    reach(posts.map(\.index).max() ?? 0)
    let unseen = posts.firstIndex { !$0.isSeen } ?? posts.endIndex
    if unseen > 0 { set(seen: max(seen, posts[unseen - 1].index)) }
    if unseen < posts.endIndex { set(seen: min(seen, posts[unseen].index - 1)) }
  }

  /// Records that there is a post with this number.
  private mutating func reach(_ post: Int) {
    guard post > 0 else { return }
    replies = max(replies, post - 1)
    pages = max(pages, 1 + (post - 1) / ThreadCounts.pageSize)
  }
}
