import Foundation
import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `A page of an old site` {
  // MARK: The body

  @Test func `keeps the attributes of a body whose tag comes late`() throws {
    #expect(OldPage.all.count == 18)
    #expect(try OldPage.page("thread").first("//body")?["data-thread"] == "26001")
    #expect(try OldPage.page("threads").first("//body")?["data-forum"] == "26")
    #expect(try OldPage.page("threads-one").first("//body")?.classes == ["forumdisplay", "forum_27"])
    #expect(try OldPage.page("register").refusal == .mustRegister)
    #expect(
      try OldPage.page("refusal").refusal
        == .refused(
          title: "Only for subscribers", text: "You need a subscription to the archives to read this thread."))
  }

  @Test(
    arguments: [
      ("<div></div><body data-user=7>", "7"), ("<img>\n<BODY\n data-user = '7' >x", "7"),
      ("text<body data-user=\"7\"/>", "7"),
      ("<div></div><body title=\"1 > 0\" data-user=7>", "7"), ("<div></div><body title='a\"b' data-user=7>", "7"),
      ("<div></div><body data-user=&#55;>", "7"), ("<table><tr><td><body data-user=7>", "7"),
      // The first value counts.
      ("<div></div><body class=x><body data-user=7 class=y><body data-user=8>", "7"),
      ("<body data-user=7><body data-user=8>", "7"),
      // None of these is a body tag.
      ("<div></div><!-- <body data-user=7> -->", nil), ("<div></div><!--[if IE]><body data-user=7><![endif]-->", nil),
      ("<div></div><script>'<body data-user=7>'</script>", nil), ("<div></div><title><body data-user=7></title>", nil),
      ("<div></div><textarea></text><body data-user=7></textarea>", nil),
      ("<div title='<body data-user=7>'></div>", nil),
      ("<div></div><bodyguard data-user=7>", nil), ("<div></div></body data-user=7>", nil),
      ("<div></div><body data-user=7", nil),
      ("<div></div><body title='x data-user=7>", nil), ("<div></div>&lt;body data-user=7>", nil),
      ("<div></div><!doctype x '<body data-user=7'>", nil),
      // An empty comment, an end tag and the end of a script do not hide the following tag.
      ("<div></div><!--><body data-user=7>", "7"), ("<div></div></a title='>'><body data-user=7>", "7"),
      ("<script>a < b </scripts> </SCRIPT ><div></div><body data-user=7>", "7"),
      ("<div></div>1 < 2 <? x ?></ ><body data-user=7>", "7"),
    ] as [(String, String?)])
  func `has the body attributes that browsers find`(text: String, user: String?) throws {
    #expect(try HTMLPage(text).first("//body")?["data-user"] == user)
    #expect(try HTMLPage("<html><head></head>" + text).first("//body")?["data-user"] == user)
  }

  @Test func `merges the attributes of several body tags`() throws {
    let body = try #require(try HTMLPage("<body class=x><p><body class=y data-user='&lt;&amp;&quot;'>").first("//body"))
    #expect(body["class"] == "x" && body["data-user"] == "<&\"")
  }

  // MARK: Threads

  @Test func `lists threads with sticky ones, and date and author of the last post`() throws {
    let list: ThreadList = try OldPage.read("threads")
    #expect(list.forum == "26" && list.title == "Engines & Looms")
    #expect(list.threads.map(\.id) == ["26010", "26000", "26001"])
    #expect(list.threads.map(\.isSticky) == [false, true, false])
    #expect(list.threads.map(\.isClosed) == [false, false, true])
    #expect(list.threads.map(\.unread) == [nil, 386, 0])
    #expect(list.threads.map(\.replies) == [1099, 4509, 119])
    #expect(list.threads.map(\.author) == ["Zoë", "Zoë", "ada"])
    #expect(list.threads.map(\.lastAuthor) == ["charles", "ada", "Zoë"])
    #expect(list.threads.map(\.lastPost.text) == ["08:56 Nov 6, 2026", "06:02 Nov 6, 2013", "12:34 Nov 3, 2026"])
    #expect(list.threads.map(\.lastPost.seconds) == [1_793_955_360, 1_383_717_720, 1_793_709_240])
    #expect(list.pages == PageNumbers(current: 1, total: 13))
  }

  @Test func `is page one of one without a bar of its own, whatever bars its threads have`() throws {
    let list: ThreadList = try OldPage.read("threads-one")
    #expect(list.threads.map(\.title) == ["Alone"] && list.pages == PageNumbers(current: 1, total: 1))
  }

  @Test(arguments: [
    ("Jan 2, 2026 <a class=author>Zoë</a>", "Jan 2, 2026"),
    ("<div class=date>Jan 2, 2026</div><a class=author>7</a>", "Jan 2, 2026"),
    ("<a href=#>Jan 2, 2026</a>", "Jan 2, 2026"), ("# ? Jan\u{BF} 2, 2026", "Jan 2, 2026"), ("yesterday", "yesterday"),
    ("", ""),
  ])
  func `reads only the date of a last post`(cell: String, date: String) throws {
    let list: ThreadList = try HTMLPage(
      "<body data-forum=1><table id=forum><tr class=thread id=thread1><td><a class=thread_title>x</a><td class=lastpost>\(cell)"
    ).scrape()
    #expect(list.threads.map(\.lastPost) == [ForumDate(date)])
  }

  @Test func `lists bookmarks`() throws {
    let list: BookmarkList = try OldPage.read("bookmarks")
    #expect(list.threads.map(\.id) == ["26001"] && list.pages == PageNumbers(current: 1, total: 3))
  }

  @Test func `lists forums and subforums`() throws {
    let index: ForumIndex = try OldPage.read("index")
    #expect(index.categories.map(\.name) == ["Main"])
    #expect(index.categories.flatMap(\.forums).map(\.id) == ["1", "26", "27"])
    #expect(index.user == ForumUser(id: "42", name: "ada"))
  }

  @Test(
    arguments: [
      ("<div class='pages top' data-current-page=2 data-total-pages=7></div>", 2, 7),
      ("<div class=pages data-total-pages=7><a href=?pagenumber=3 title='Next page'>&rsaquo;</a></div>", 2, 7),
      ("<div class=pages><select><option value=1>1<option value=2 selected>2<option value=3>3</select></div>", 2, 3),
      ("<div class=pages><select name=perpage><option selected>40</select>Page 3 of 12</div>", 3, 12),
      ("<div class=pages>Pages (12): <a href=?pagenumber=2>2</a> [3] <a href=?pagenumber=4>4</a></div>", 3, 12),
      (
        "<div class=pages><a href=?pagenumber=1 title='First page'>«</a> <a href=?pagenumber=4 title='Previous page'>‹</a> <span>5 »</span></div>",
        5, 5
      ),
      (
        "<div class=pages><a href=?pagenumber=2 title='Next page'>›</a><a href=?pagenumber=9 title='Last page'>9</a></div>",
        1, 9
      ),
      ("<div class=pages>1 <a href=?pagenumber=2>2</a> <a href=?pagenumber=3>3</a></div>", 1, 3),
      ("<div class=pages></div>", 1, 1), ("<div class=pages>Pages: 1</div>", 1, 1), ("", 1, 1),
      ("<div class=title_pages><a href=?pagenumber=7>7</a></div>", 1, 1),
      ("<div class=pages data-current-page=9 data-total-pages=7></div>", 7, 7),
      ("<div class=pages data-current-page=-1 data-total-pages=99999999999999999999></div>", 1, 1),
    ] as [(String, Int, Int)])
  func `identifies its page number`(bar: String, current: Int, total: Int) throws {
    let numbers = try PageBar.numbers(HTMLPage("<body>\(bar)"))
    #expect(numbers == PageNumbers(current: current, total: total))
  }

  @Test(arguments: [
    "<a href=?pagenumber=2>2</a> <a href=?pagenumber=3>3</a>", "data", "Pages (12)", "Pages (12): 3 4",
    "<select><option>1<option>2</select>",
  ])
  func `is an error if it does not identify its page number`(bar: String) throws {
    let bar = bar == "data" ? "<div class=pages data-total-pages=7></div>" : "<div class=pages>\(bar)</div>"
    #expect(throws: ScrapeError.missing("number of the page")) { try PageBar.numbers(HTMLPage("<body>\(bar)")) }
  }

  // MARK: Posts

  @Test func `reads a thread: dates without their marks, and ignored posts`() throws {
    let page: PostsPage = try OldPage.read("thread")
    #expect(page.thread == "26001" && page.forum == "26" && page.title == "Punched cards, then and now")
    #expect(page.pages == PageNumbers(current: 2, total: 3))
    #expect(page.posts.map(\.id) == ["397709043", "397709100", "397715438"])
    #expect(page.posts.map(\.index) == [41, 42, 43])
    #expect(page.posts.map(\.date.text) == ["Nov 17, 2011 14:13", "Nov 17, 2011 15:00", "Nov 7, 2011 17:27"])
    #expect(page.posts.map(\.date.seconds) == [1_321_539_180, 1_321_542_000, 1_320_686_820])
    #expect(page.posts.map(\.author.id) == ["7", "13", "42"])
    #expect(page.posts.map(\.isIgnored) == [false, true, false] && page.posts.map(\.isSeen) == [true, true, false])
    #expect(page.posts[0].text == "ada posted:\n> A card has a hole or it has none.\nAnd a corner to tell its top.")
    #expect(page.posts[1].text == "You ignore this member.")
  }

  @Test(arguments: [
    "<body class='showthread thread_5'><div id=thread>", "<body><div id=thread class='x thread:5'>",
    "<body><a class=bclast href='showthread.php?threadid=5&goto=1'>x</a><div id=thread>",
  ])
  func `identifies its thread in other ways, too`(head: String) throws {
    let page: PostsPage = try HTMLPage(head + "<table class=post id=post1><td class=postbody>x</table>").scrape()
    #expect(page.thread == "5")
  }

  // MARK: Members

  @Test func `reads messages`() throws {
    let list: MessageList = try OldPage.read("messages")
    #expect(list.messages.map(\.id) == ["4601204", "4601162"] && list.messages.map(\.isSeen) == [false, true])
    #expect(
      list.messages.map(\.subject) == ["Re: Looms", "Looms"] && list.messages.map(\.sender) == ["Zoë", "charles"])
    #expect(list.messages.map(\.date.text) == ["Nov 8, 2026 at 21:30", "Nov 8, 2026 at 20:56"])
    #expect(list.messages.map(\.date.seconds) == [1_794_173_400, 1_794_171_360])
    #expect(try OldPage.read("messages-none", as: MessageList.self).messages == [])
    let message: MessagePage = try OldPage.read("message")
    #expect(
      message.id == "4601204" && message.subject == "Re: Looms" && message.sender == ForumUser(id: "7", name: "Zoë"))
    #expect(message.date.text == "Nov 8, 2026 21:30" && message.text == "The shuttle goes left, then right.\nYours")
  }

  @Test func `reads a profile`() throws {
    let page: ProfilePage = try OldPage.read("profile")
    #expect(page.user == ForumUser(id: "7", name: "Zoë") && page.title == "Countess of cards" && page.posts == 2493)
    #expect(
      page.joined.text == "Oct 23, 2010"
        && page.about.hasSuffix("since registering on Oct 23, 2010.\nWeaves, and counts."))
  }

  // MARK: Bans

  @Test func `states the reason and end of a ban`() throws {
    let end: ForumDate = "November 3, 2026 8:45 p.m. CST"
    #expect(end.seconds != nil)
    #expect(try OldPage.page("ban").refusal == .banned(Ban(reason: "Posted a bad pun. Twice.", end: end)))
    #expect(
      try OldPage.page("ban-permanent").refusal == .banned(Ban(.permanent, reason: "Sold the forum's tea")))
    #expect(try OldPage.page("ban-link").refusal == .banned(Ban(listed: "42")))
  }

  @Test(arguments: [
    ("<p>You are banned until Nov. 3, 2026. Come back then.", Ban(end: "Nov. 3, 2026")),
    ("<p>Banned until next Tuesday. Reason follows.", Ban(end: "next Tuesday")), ("<p>Banned until", Ban(reason: "")),
    ("<p>Reason:</p><p>Puns</p>", Ban(reason: "Puns")), ("<p>Reason:</p>", Ban()),
    // A date in the reason is not the end of the ban.
    (
      "<p>Reason: permanently late, until Nov 3, 2020</p><p>Until: Dec 1, 2026</p>",
      Ban(reason: "permanently late, until Nov 3, 2020", end: "Dec 1, 2026")
    ),
    ("<p class=reason>Puns forever</p><p class=until>Never</p>", Ban(.permanent, reason: "Puns forever")),
    ("<p class=reason>Puns forever</p><p class=until>Dec 1, 2026</p>", Ban(reason: "Puns forever", end: "Dec 1, 2026")),
    ("<div class=inner><h1>Banned</h1>Go away</div>", Ban(reason: "Banned Go away")), ("", Ban()),
    // A link to the reason is not the reason.
    ("<div id=content><h1>BANNED</h1><a href='/banlist.php?userid=7'>Why?</a></div>", Ban(listed: "7")),
  ])
  func `reads a ban from prose`(text: String, ban: Ban) throws {
    #expect(try HTMLPage("<body class=banned>\(text)").refusal == .banned(ban))
  }

  @Test func `lists bans and probations`() throws {
    let list: BanList = try OldPage.read("bans")
    #expect(list.entries.map(\.user.id) == ["42", "42", "13"])
    #expect(list.entries.map(\.ban.kind) == [.probation, .ban, .permanent])
    #expect(list.entries.map(\.ban.end?.text) == [nil, "Nov 3, 2026", nil])
    #expect(list.entries[1].ban.reason == "Posted a bad pun. User has been banned until Nov 3, 2026.")
    #expect(throws: ScrapeError.missing("ban in each row")) {
      let _: BanList = try HTMLPage("<table><tr><th>Type<tr><td>Praise<td>1<td>2<td>3</table>").scrape()
    }
  }

  @Test func `reports a probation, and is read nevertheless`() throws {
    let page = try OldPage.page("probation")
    #expect(page.probation == Ban(.probation, end: "September 21, 2026 8:45 PM CST", listed: "42"))
    #expect(try page.scrape(ThreadList.self).threads == [])
    #expect(try OldPage.page("thread").probation == nil)
  }

  // MARK: Unparseable pages

  @Test func `identifies its visitor only if it names one`() throws {
    #expect(try OldPage.page("thread").visitor == .member(ForumUser(id: "42", name: "ada")))
    #expect(try OldPage.page("index-guest").visitor == .guest)
    #expect(try OldPage.page("register").visitor == .guest)
    #expect(try HTMLPage("<body data-user=0>").visitor == .guest)
    // A member without a number on the page, and pages of other sites.
    #expect(try HTMLPage("<body><a href='/account.php?action=logout&ma=1'>Log Out</a>").visitor == .unknown)
    #expect(
      try HTMLPage("<body><a href='/account.php?action=logout'>x</a><form action=account.php></form>").visitor
        == .unknown)
    #expect(try OldPage.page("challenge").visitor == .unknown)
  }

  @Test func `is an error rather than an empty list if it cannot be parsed`() throws {
    func read<Page: Scraped>(_ text: String, _ type: Page.Type) throws { let _: Page = try HTMLPage(text).scrape() }
    let row = "<tr class=row><td><a href='showthread.php?threadid=1'>x</a>"
    #expect(throws: ScrapeError.missing("forums")) { try read("<table id=forums><tr><td>x</table>", ForumIndex.self) }
    #expect(throws: ScrapeError.missing("threads")) {
      try read("<body data-forum=1><table id=forum>\(row)</table>", ThreadList.self)
    }
    #expect(throws: ScrapeError.missing("thread in each row")) {
      try read("<body class=bookmark_threads><table id=forum>\(row)</table>", BookmarkList.self)
    }
    #expect(throws: ScrapeError.missing("posts")) {
      try read("<body data-thread=1><div id=thread></div>", PostsPage.self)
    }
    #expect(throws: ScrapeError.missing("posts")) {
      try read(
        "<body data-thread=1><div id=thread><table class=post id=post1></table><table class=post id=x></table>",
        PostsPage.self)
    }
    #expect(throws: ScrapeError.missing("message in each row")) {
      try read("<table id=messages><tr><td><a href=?privatemessageid=1>x</table>", MessageList.self)
    }
    for type in [
      ForumIndex.self, ThreadList.self, BookmarkList.self, PostsPage.self, ProfilePage.self, MessageList.self,
      MessagePage.self, BanList.self,
    ] as [any Scraped.Type] {
      #expect(throws: ScrapeError.self) { try type.init(OldPage.page("challenge")) }
    }
  }

  /// With any part removed, a page is read correctly or is an error, but never a shorter list.
  @Test func `loses no row along with a missing part`() throws {
    let whole = try OldPage.text("messages")
    for id in ["4601204", "4601162"] {
      let cut = whole.replacingOccurrences(of: "action=show&amp;privatemessageid=\(id)", with: "privatemessageid=")
      #expect(throws: ScrapeError.missing("message in each row")) { let _: MessageList = try HTMLPage(cut).scrape() }
    }
  }
}
