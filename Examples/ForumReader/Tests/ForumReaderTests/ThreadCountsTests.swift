import HandstampTesting
import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `The length and read position of a thread` {
  @Test(arguments: 0..<200 as Range<UInt64>)
  func `stay consistent whatever pages state, in any order`(seed: UInt64) {
    var random = SplitMix64(state: seed)
    var counts = ThreadCounts()
    for _ in 0..<30 {
      let number = Int.random(in: -2...400, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        counts.set(pages: number)
        #expect(counts.replies >= (number - 1) * 40)
      case 1:
        counts.set(replies: number)
        #expect(counts.pages >= 1 + number / 40)
      case 2:
        counts.set(seen: number)
        #expect(counts.replies >= number - 1 && counts.pages >= 1 + (number - 1) / 40)
      default:
        counts.see(posts(max(1, number)...max(1, number) + 9, seen: Int.random(in: 0...10, using: &random)))
        #expect(counts.replies >= max(1, number) + 8)
      }
      #expect(counts.replies >= 0 && counts.pages >= 1 && counts.seen >= 0)
      #expect((counts.unread == nil) == (counts.seen == 0))
    }
  }

  /// A page with posts 41 to 50.
  @Test(arguments: [
    // None of it was read: earlier reading counts, but nothing on this page.
    (0, 0, 0), (0, 40, 40), (0, 50, 40), (0, 12, 12),
    // Read in part: reading stopped here.
    (3, 0, 43), (3, 43, 43), (3, 99, 43),
    // Read to the end, and perhaps beyond.
    (10, 0, 50), (10, 50, 50), (10, 70, 70),
  ])
  func `are taken from where the page shows that reading stopped`(seen: Int, before: Int, wanted: Int) {
    var counts = ThreadCounts(replies: 100, pages: 3, seen: before)
    counts.see(posts(41...50, seen: seen))
    #expect(counts.seen == wanted)
  }

  @Test func `leave an unopened thread without an unread count`() {
    #expect(ThreadCounts(replies: 9).unread == nil)
    #expect(ThreadCounts(replies: 9, seen: 4).unread == 6)
    #expect(ThreadCounts(replies: 9, seen: 10).unread == 0)
    #expect(ThreadCounts(replies: 9, seen: 12).unread == 0)
  }

  private func posts(_ indices: ClosedRange<Int>, seen: Int) -> [PostsPage.Post] {
    indices.enumerated().map { place, index in
      PostsPage.Post(
        id: String(index), index: index, author: ForumUser(id: "7", name: "Zoë"), date: "", text: "x",
        isSeen: place < seen)
    }
  }
}
