import HandstampCookies
import HandstampTesting
import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `A scraper` {
  private func page<Value: Scraped>(_ text: String) throws -> Value { try HTMLPage(text).scrape() }

  @Test func `reads categories and forums`() throws {
    let index: ForumIndex = try page(Sample.index)
    #expect(index.user == ForumUser(id: "42", name: "ada"))
    #expect(index.categories.map(\.name) == ["Main", "Archives"])
    #expect(index.categories.first?.forums.map(\.id) == ["1", "26"])
    #expect(index.categories.first?.forums.map(\.name) == ["General Nonsense", "Engines & Looms"])
    #expect(index.categories.first?.forums.first?.about == "All about nonsense")
  }

  @Test func `reads threads, and skips those without an ID`() throws {
    let list: ThreadList = try page(Sample.threads)
    #expect(list.forum == "26" && list.title == "Engines & Looms" && list.pages == PageNumbers(current: 2, total: 7))
    #expect(list.threads.map(\.id) == ["26000", "26001", "26003"])
    let first = try #require(list.threads.first)
    #expect(first.title == "Rules – read “me”" && first.author == "Zoë" && first.replies == 1099)
    #expect(first.isSticky && !first.isClosed && first.lastPost.text == "Jan 1" && first.lastPost.seconds == nil)
    #expect(list.threads.map(\.unread) == [1012, 0, nil])
  }

  @Test func `reads posts as lines, without scripts`() throws {
    let posts: PostsPage = try page(Sample.posts)
    #expect(posts.thread == "26001" && posts.forum == "26" && posts.title == "Old")
    #expect(posts.posts.map(\.index) == [1, 2] && posts.posts.map(\.isSeen) == [true, false])
    #expect(posts.posts.first?.author == ForumUser(id: "7", name: "Zoë"))
    #expect(posts.posts.first?.text == "> ada posted:\n> Tea & cake\nFirst\nsecond bold text")
    #expect(posts.posts.last?.text == "red ☃ [:)]")
  }

  @Test func `numbers ignored posts by those around them, and counts them as read likewise`() throws {
    let page: PostsPage = try page(Sample.ignoring)
    #expect(page.posts.map(\.index) == [41, 42, 43, 44])
    #expect(page.posts.map(\.isIgnored) == [true, false, true, false])
    #expect(page.posts.map(\.isSeen) == [true, true, true, false])
  }

  @Test(arguments: [
    ([0, 0, 0], [81, 82, 83]), ([0, 90, 0, 0], [89, 90, 91, 92]), ([5, 0, 9, 0], [5, 6, 9, 10]),
    ([0, 0, 1], [1, 1, 1]),
  ])
  func `numbers every post, whatever the page states`(said: [Int], wanted: [Int]) throws {
    let posts = said.enumerated().map { place, index in
      "<table class=post id=post\(place + 1) \(index > 0 ? "data-idx=\(index)" : "")><td class=postbody>x</table>"
    }
    let page: PostsPage = try page(
      "<body data-thread=1><div class=pages data-current-page=3 data-total-pages=3></div><div id=thread>\(posts.joined())"
    )
    #expect(page.posts.map(\.index) == wanted)
  }

  @Test func `reads bookmarks, and rejects other lists`() throws {
    let list: BookmarkList = try page(Sample.bookmarks)
    #expect(list.threads.map(\.id) == ["26003", "1007"] && list.pages == PageNumbers(current: 1, total: 2))
    #expect(list.threads.map(\.unread) == [nil, 2])
    let (later, earlier) = try (
      #require(list.threads.last?.lastPost.seconds), #require(list.threads.first?.lastPost.seconds)
    )
    #expect(later - earlier == 8 * 3600 + 1800)
    #expect(throws: ScrapeError.missing("page of bookmarks")) { let _: BookmarkList = try page(Sample.threads) }
    #expect(throws: ScrapeError.missing("table of threads")) {
      let _: BookmarkList = try page("<body class=bookmark_threads>")
    }
    #expect(throws: ScrapeError.missing("forum")) { let _: ThreadList = try page(Sample.bookmarks) }
  }

  @Test func `reads profiles and messages`() throws {
    let profile: ProfilePage = try page(Sample.profile)
    #expect(profile.user.name == "Zoë" && profile.posts == 1815 && profile.about == "Likes numbers.\nAnd looms.")
    let list: MessageList = try page(Sample.messages)
    #expect(list.messages.map(\.id) == ["421", "422"] && list.messages.map(\.isSeen) == [false, true])
    let message: MessagePage = try page(Sample.message)
    #expect(message.subject == "Hi" && message.text == "For your eyes" && message.sender.id == "7")
  }

  @Test(arguments: Sample.refusals.indices) func `identifies a refusal`(index: Int) throws {
    let (text, wanted) = Sample.refusals[index]
    #expect(try HTMLPage(text).refusal == wanted)
    #expect(throws: wanted) { let _: ForumIndex = try page(text) }
  }

  @Test func `names the missing part`() {
    #expect(throws: ScrapeError.missing("table of forums")) { let _: ForumIndex = try page("<body>hotel WiFi") }
    #expect(throws: ScrapeError.missing("forum")) { let _: ThreadList = try page("<body data-forum=''>") }
    #expect(throws: ScrapeError.missing("thread")) { let _: PostsPage = try page(Sample.index) }
    #expect(throws: ScrapeError.missing("profile")) { let _: ProfilePage = try page("<p>") }
    #expect(throws: ScrapeError.missing("page")) { try HTMLPage("") }
  }

  @Test func `reads windows-1252 without losing a byte`() throws {
    let bytes = Array("<body data-user=1><b id=loggedinusername>".utf8) + [0x80, 0x93, 0xEF, 0x81, 0x94]
    let page = try HTMLPage(windows1252: bytes + Array("</b>".utf8))
    #expect(page.user?.name == "€“ï\u{81}”")
  }

  /// Every page, cut, doubled and corrupted byte by byte, yields a value or a typed error.
  @Test(arguments: 0..<40 as Range<UInt64>) func `yields values or its own errors on a corrupted page`(seed: UInt64) {
    var random = SplitMix64(state: seed)
    for page in Sample.pages.map(Windows1252.encode) + OldPage.all {
      var bytes = page
      for _ in 0..<Int.random(in: 1...12, using: &random) { random.spoil(&bytes) }
      let errors = Everything.read(bytes)
      #expect(errors.allSatisfy { $0 is ScrapeError }, "\(errors)")
    }
  }

  @Test func `accepts an endlessly nested page`() throws {
    let deep = String(repeating: "<div><blockquote>", count: 20_000)
    let head = "<body data-thread=1><div id=thread><table class=post id=post1><td class=postbody>"
    let posts: PostsPage = try page(head + deep)
    #expect(posts.posts.map(\.id) == ["1"])
    let tables = Everything.read(Array(String(repeating: "<table id=forum>", count: 5000).utf8))
    #expect(tables.count == 8 && tables.allSatisfy { $0 is ScrapeError })
  }
}

extension SplitMix64 {
  mutating func spoil(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else { return }
    let place = Int.random(in: 0..<bytes.count, using: &self)
    let end = min(bytes.count, place + Int.random(in: 1...80, using: &self))
    switch Int.random(in: 0..<6, using: &self) {
    case 0: bytes[place] = UInt8.random(in: 0...255, using: &self)
    case 1: bytes.removeSubrange(place..<end)
    case 2: bytes.insert(contentsOf: bytes[place..<end], at: place)
    case 3: bytes.removeLast(bytes.count - place)
    case 4: bytes.insert(contentsOf: Array("<'\"&#0;&#x110000;<!--]]><table></body>\0".utf8), at: place)
    default: bytes[place..<end].reverse()
    }
  }
}
