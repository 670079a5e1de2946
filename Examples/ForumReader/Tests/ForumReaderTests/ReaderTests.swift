import Foundation
import Handstamp
import HandstampCookies
import HandstampData
import HandstampTesting
import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `A reader at a terminal` {
  private static let threads = Listing.threads(forum: "26", page: 1)
  /// The first page of Engines & Looms.
  private static let page = Sample.threads.replacingOccurrences(of: "data-current-page=2", with: "data-current-page=1")

  @Test func `shows the stored list immediately, and the fetched one when it arrives`() async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    let gate = Gate()
    scene.site.answer("index.php", Sample.index.replacingOccurrences(of: "General", with: "Special"), behind: gate)
    scene.console.type("r")
    await scene.console.sees("1. General Nonsense (All about nonsense)")
    await gate.arrivals(1)
    #expect(!scene.console.said.contains("Special"))
    gate.open()
    // Only the changed line is printed.
    await scene.console.sees("changed:\n1. Special Nonsense (All about nonsense)")
    #expect(!scene.console.said.contains("Special Nonsense (All about nonsense)\n2."))
    try await scene.leave(running)
  }

  @Test func `shows every change of the store`() async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    scene.site.answer("forumdisplay.php", Self.page)
    scene.console.type("2")
    await scene.console.sees("1. Rules – read “me” (Zoë, 1099 replies, 1012 unread, sticky, last post Jan 1)")
    let requests = scene.site.requests.count
    try await scene.ada.markRead("26000", to: 1090)
    await scene.console.sees("changed:\n1. Rules – read “me” (Zoë, 1099 replies, 10 unread, sticky, last post Jan 1)")
    #expect(scene.site.requests.count == requests)
    try await scene.leave(running)
  }

  @Test func `announces an empty list before and after the fetch`() async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    let gate = Gate()
    scene.site.answer("private.php", "<body><table id=messages></table>", behind: gate)
    scene.console.type("m")
    await scene.console.sees("fetching…")
    gate.open()
    await scene.console.sees("nothing here yet")
    try await scene.leave(running)
  }

  @Test func `explains why it shows stored content`() async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    scene.console.type("r")
    await scene.console.sees("from memory: no network")
    scene.site.answer("index.php", Sample.refusals[0].text, status: 503)
    scene.console.type("r")
    await scene.console.sees("1. General Nonsense")
    await scene.console.sees("from memory: the forum's database is down")
    scene.site.answer("index.php", Sample.index)
    scene.console.type("r")
    await scene.console.sees("nothing new")
    try await scene.leave(running)
  }

  @Test(arguments: [true, false])
  func `shows no late response on another page, be it good or bad`(isGood: Bool) async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    let gate = Gate()
    scene.site.answer("forumdisplay.php", isGood ? Self.page : Sample.refusals[0].text, behind: gate)
    scene.site.answer("private.php", Sample.messages)
    scene.console.type("2")
    await scene.console.sees("fetching…")
    await gate.arrivals(1)
    scene.console.type("m")
    await scene.console.sees("1. Hi (Zoë, Feb 1, new)")
    gate.open()
    if isGood {
      // It is stored for the next visit.
      for try await listed in try scene.ada.values(Self.threads) where listed.fetch != nil { break }
    }
    await scene.catchUp()
    #expect(!scene.console.said.contains("Rules"))
    #expect(!scene.console.said.contains("from memory"))
    scene.console.type("b")
    if isGood {
      scene.console.type("2")
      await scene.console.sees("1. Rules")
    }
    try await scene.leave(running)
  }

  @Test(arguments: [true, false])
  func `shows nothing of the previous account to the next one`(isErased: Bool) async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    let gate = Gate()
    scene.site.answer("private.php", Sample.messages, behind: gate)
    scene.site.answer("private.php", Sample.messages.replacingOccurrences(of: "Hi", with: "Hello Zoë"))
    scene.site.answer("index.php", Sample.index.replacingOccurrences(of: "General", with: "Zoë's"))
    scene.console.type("m")
    await scene.console.sees("fetching…")
    await gate.arrivals(1)
    let previous = try scene.ada
    if isErased {
      scene.console.type("out")
      await scene.console.sees("signed out")
    } else if case .signedIn(let facts) = scene.client.controller.state {
      await scene.client.controller.sessionDidEnd(facts.id, reason: .rejected)
      await scene.console.sees("you were signed out: the forum ended the session")
    }
    // A change in her store is not shown, either.
    try? await previous.keep(HTMLPage(Sample.messages).scrape(MessageList.self))
    scene.signIn("Zoë", 7)
    await scene.console.sees("Zoë's Nonsense")
    gate.open()
    scene.console.type("m")
    await scene.console.sees("Hello Zoë")
    await scene.catchUp()
    #expect(!scene.console.said.contains("1. Hi ("))
    #expect(scene.console.said.components(separatedBy: "General Nonsense").count == 2)
    #expect(try scene.zoë.now(.messages).first?.text == "Hello Zoë")
    try await scene.leave(running)
  }

  @Test func `fetches a recent list again only on request`() async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    scene.site.answer("forumdisplay.php", Self.page)
    scene.site.answer("forumdisplay.php", Self.page)
    scene.site.answer("forumdisplay.php", Self.page)
    for _ in 0..<3 {
      scene.console.type("2")
      await scene.console.sees("1. Rules")
      scene.console.type("b")
      await scene.console.sees("1. General Nonsense")
    }
    #expect(scene.site.count("forumdisplay.php") == 1)
    #expect(scene.site.count("index.php") == 1)
    scene.console.type("2")
    await scene.console.sees("1. Rules")
    scene.console.type("r")
    await scene.console.sees("nothing new")
    #expect(scene.site.count("forumdisplay.php") == 2)
    scene.clock.advance(by: .seconds(15 * 60))
    scene.console.type("b")
    await scene.console.sees("1. General Nonsense")
    let fetched = try scene.ada.listed(Self.threads).fetch
    scene.console.type("2")
    for try await listed in try scene.ada.values(Self.threads) where listed.fetch != fetched { break }
    #expect(scene.site.count("forumdisplay.php") == 3)
    #expect(scene.site.count("index.php") == 1)
    try await scene.leave(running)
  }

  @Test func `adds and removes a bookmark for the open thread or one in a list`() async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    scene.site.answer("forumdisplay.php", Self.page)
    scene.console.type("2")
    await scene.console.sees("2. Old")
    scene.site.answer("bookmarkthreads.php", "<body data-user=42>ok")
    scene.console.type("mark 2")
    await scene.console.sees("bookmarked")
    let body = scene.site.requests.last.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(body == "action=add&threadid=26001")
    // It is visible before the list is fetched.
    let gate = Gate()
    scene.site.answer("bookmarkthreads.php", Sample.bookmarks, behind: gate)
    scene.console.type("marks")
    await scene.console.sees("1. Old (ada, 0 replies, read, closed)")
    gate.open()
    await scene.console.sees(
      "1. Elsewhere (Zoë, 41 replies, 2 unread, last post Jan 5, 2026 08:00)\n2. New (ada, 3 replies, last post 11:30 PM Jan 4, 2026)\npage 1 of 2"
    )
    scene.site.answer("showthread.php", Sample.posts.replacingOccurrences(of: "26001", with: "26003"))
    scene.console.type("2")
    await scene.console.sees("red ☃")
    scene.site.answer("bookmarkthreads.php", Sample.refusals[0].text)
    scene.console.type("unmark")
    await scene.console.sees("bookmark kept: the forum's database is down")
    scene.site.answer("bookmarkthreads.php", "<body data-user=42>ok")
    scene.console.type("unmark")
    await scene.console.sees("bookmark removed")
    scene.console.type("b")
    await scene.console.sees("1. Elsewhere (Zoë, 41 replies, 2 unread, last post Jan 5, 2026 08:00)\npage 1 of 2")
    scene.console.type("unmark 7")
    await scene.console.sees("a number opens")
    try await scene.leave(running)
  }

  @Test func `shows sticky threads, the last post's author, a post's author, and messages`() async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    scene.site.answer("forumdisplay.php", try OldPage.text("threads"))
    scene.console.type("2")
    await scene.console.sees(
      """
      1. Rules (Zoë, 4509 replies, 386 unread, sticky, last post 06:02 Nov 6, 2013 by ada)
      2. The newest (Zoë, 1099 replies, last post 08:56 Nov 6, 2026 by charles)
      3. Punched cards (ada, 119 replies, read, closed, last post 12:34 Nov 3, 2026 by Zoë)
      page 1 of 13
      """)
    scene.site.answer("showthread.php", try OldPage.text("thread"))
    scene.site.answer("showthread.php", try OldPage.text("thread"))
    scene.console.type("3")
    await scene.console.sees("nothing here yet")
    scene.console.type("n")
    await scene.console.sees("-- #42 Mallory, Nov 17, 2011 15:00, ignored\nYou ignore this member.")
    scene.site.answer("member.php", try OldPage.text("profile"))
    scene.console.type("who #41")
    await scene.console.sees("-- Countess of cards, 2493 posts, since Oct 23, 2010")
    #expect(scene.site.requests.last?.url == Site.base + "member.php?action=getinfo&userid=7")
    scene.console.type("who #41")
    await scene.console.sees("a number opens")
    scene.site.answer("private.php", try OldPage.text("messages"))
    scene.console.type("m")
    await scene.console.sees("1. Re: Looms (Zoë, Nov 8, 2026 at 21:30, new)\n2. Looms (charles, Nov 8, 2026 at 20:56)")
    scene.site.answer("private.php", try OldPage.text("message"))
    scene.console.type("1")
    await scene.console.sees("-- Zoë, Nov 8, 2026 21:30\nThe shuttle goes left, then right.")
    try await scene.leave(running)
  }

  @Test func `states the reason and end of a ban, and each probation once`() async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    scene.site.answer("index.php", try OldPage.text("ban-link"))
    scene.site.answer("banlist.php", try OldPage.text("bans"))
    scene.console.type("r")
    await scene.console.sees(
      "from memory: you are banned until Nov 3, 2026: Posted a bad pun. User has been banned until Nov 3, 2026.")
    let words = "you are on probation until September 21, 2026 8:45 PM CST: you can read, but not write"
    for _ in 0..<2 {
      scene.site.answer("forumdisplay.php", try OldPage.text("probation"))
      scene.console.type("2")
      await scene.console.sees("nothing here yet")
      scene.console.type("b")
      await scene.console.sees("1. General Nonsense")
      // A page that does not mention it does not make it new.
      scene.site.answer("index.php", Sample.index)
      scene.console.type("r")
      await scene.console.sees("nothing new")
    }
    await scene.catchUp()
    #expect(scene.console.said.components(separatedBy: words).count == 2)
    try await scene.leave(running)
  }

  @Test func `completes pending requests before it ends`() async throws {
    let scene = try Scene()
    let running = await scene.arrive()
    scene.site.answer("forumdisplay.php", Self.page)
    scene.console.type("2")
    await scene.console.sees("2. Old")
    let gate = Gate()
    scene.site.answer("bookmarkthreads.php", "<body data-user=42>ok", behind: gate)
    scene.console.type("mark 2")
    await gate.arrivals(1)
    scene.console.type("q")
    gate.open()
    try await running.value
    #expect(scene.console.said.hasSuffix("bookmarked"))
    #expect(try scene.ada.now(.bookmarks(page: 1)).map(\.id) == ["26001"])
  }

  @Test func `makes a script's commands wait for their pages`() async throws {
    let scene = try Scene(isInteractive: false)
    scene.site.answer("index.php", Sample.index)
    scene.site.answer("forumdisplay.php", Self.page)
    scene.site.answer("showthread.php", Sample.posts)
    scene.site.answer("showthread.php", "<body data-user=42>ok")
    scene.signIn("ada", 42)
    for word in ["2", "2", "read", "q"] { scene.console.type(word) }
    try await scene.start().value
    let said = scene.console.said
    #expect(said.contains("red ☃ [:)]\npage 1 of 1\nmarked as read"))
    #expect(!said.contains("a number opens"))
    let body = scene.site.requests.last.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(body == "action=setseen&threadid=26001&index=2")
  }
}
