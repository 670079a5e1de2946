/// How long a thread is, and how much of it was read. Each page tells a part of it: what one says raises what the others cannot be
/// less than.
struct ThreadCounts: Sendable, Hashable {
  /// Posts on a page.
  static let pageSize = 40

  /// Without the first post.
  private(set) var replies: Int
  private(set) var pages: Int
  /// Posts up to the last one that was read; 0 for a thread that was never opened.
  private(set) var seen: Int

  init(replies: Int = 0, pages: Int = 1, seen: Int = 0) {
    self.replies = max(0, replies)
    self.pages = max(1, pages)
    self.seen = max(0, seen)
  }

  /// Posts that wait to be read; nothing for a thread that was never opened.
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

  /// What a page of posts says: how many there are at least, and between which two posts the reading stopped.
  mutating func see(_ posts: [PostsPage.Post]) {
    reach(posts.map(\.index).max() ?? 0)
    let unseen = posts.firstIndex { !$0.isSeen } ?? posts.endIndex
    if unseen > 0 { set(seen: max(seen, posts[unseen - 1].index)) }
    if unseen < posts.endIndex { set(seen: min(seen, posts[unseen].index - 1)) }
  }

  /// There is a post of that number.
  private mutating func reach(_ post: Int) {
    guard post > 0 else { return }
    replies = max(replies, post - 1)
    pages = max(pages, 1 + (post - 1) / ThreadCounts.pageSize)
  }
}
