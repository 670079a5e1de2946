import Foundation
import Handstamp
import HandstampCore
import HandstampData

/// What one account reads between its sign-in and the session's end.
///
/// A page goes one way: fetched, kept in the store, seen there by whoever looks. So a list is shown at once as far as it is known,
/// and again when that changes, whatever changed it; what a fetch brings for a list that nobody looks at any more is kept and not
/// shown. Every sitting has a store and a stream of events of its own: nothing of it reaches the next one.
final class Sitting {
  enum End { case quit, over }

  private enum Event: Sendable {
    case word(String?)
    /// What the visit of that number sees.
    case listed(Int, ForumStore.Listed)
    case unreadable(Int, any Error)
    case fetched(Listing, (any Error)?)
    /// A page told of a probation.
    case probation(Ban)
    /// What became of something that was asked for.
    case told(String)
    case over
  }

  /// One look at one list.
  private struct Visit {
    var number = 0
    var list = Listing.forums
    /// Whether the person asked for it to be fetched, and wants to hear of it.
    var isAsked = false
    var screen: Screen
    var looking: Task<Void, Never>?
    var listed: ForumStore.Listed?
    /// What is on the screen stays in the store.
    var lease: Lease?
    var hasChanged = false
    /// The fetch that the store knew of when the last one ended: the list is up to date when it shows that one.
    var fetch: Int64?
    var failure: (any Error)?
    /// Whether it has been said how the fetch ended.
    var isSettled = false
  }

  private let facts: SignedIn
  private let client: ForumClient
  private let store: ForumStore
  private let console: any Console
  private let stream: AsyncStream<Event>
  private let events: AsyncStream<Event>.Continuation
  private var path: [Listing] = [.forums]
  private var visit = Visit(screen: Screen(.forums))
  private var fetches: [Listing: Task<Void, Never>] = [:]
  private var deeds: [Task<Void, Never>] = []
  private var openDeeds = 0
  private var word: Task<Void, Never>?
  /// The one that the person was told of.
  private var probation: Ban?
  private var isOffline = false
  private var isLeaving = false

  init(_ facts: SignedIn, _ client: ForumClient, _ store: ForumStore, _ console: any Console) {
    self.facts = facts
    self.client = client
    self.store = store
    self.console = console
    (stream, events) = AsyncStream.makeStream(of: Event.self)
  }

  func run() async throws -> End {
    let watching = Task { [events, states = client.controller.states, session = facts.session] in
      for await state in states {
        guard case .signedIn(let now) = state, now.session == session else { break }
      }
      events.yield(.over)
    }
    defer {
      for task in [watching, word, visit.looking].compactMap({ $0 }) + deeds + fetches.values { task.cancel() }
    }
    look(isAsked: false)
    for await event in stream {
      // Whatever came after the end is for nobody.
      guard isGoingOn else { return .over }
      try await handle(event)
      guard isGoingOn else { return .over }
      if isLeaving {
        // What was asked of the forum is done before the program ends.
        if openDeeds == 0 { return .quit }
        continue
      }
      awaitWord()
      console.repeatPrompt()
    }
    return .over
  }

  private var isGoingOn: Bool {
    if case .signedIn(let now) = client.controller.state { now.session == facts.session } else { false }
  }

  private func handle(_ event: Event) async throws {
    switch event {
    case .word(let text):
      word = nil
      guard let text else {
        isLeaving = true
        return
      }
      try await obey(text.trimmingCharacters(in: .whitespaces))
    case .listed(let number, let listed): if number == visit.number { show(listed) }
    case .unreadable(let number, let error): if number == visit.number { throw error }
    case .fetched(let list, let error):
      fetches[list] = nil
      guard list == visit.list else { return }
      visit.failure = error
      visit.fetch = (try? store.listed(list))?.fetch
      settle()
    case .probation(let ban):
      // Many pages repeat it.
      guard ban != probation else { return }
      probation = ban
      console.say(Words.describe(ban))
    case .told(let text):
      openDeeds -= 1
      console.say(text)
    case .over: break
    }
  }

  // MARK: Looking

  /// Shows the list at the end of the path, and has it fetched if it is time for that or somebody asks.
  private func look(isAsked: Bool) {
    guard let list = path.last else { return }
    visit.looking?.cancel()
    let number = visit.number + 1
    let isFetched = fetches[list] != nil || (!isOffline && (isAsked || ((try? store.isDue(list)) ?? true)))
    visit = Visit(number: number, list: list, isAsked: isAsked && isFetched, screen: Screen(list))
    visit.looking = Task { [events, values = store.values(list)] in
      do {
        for try await listed in values { events.yield(.listed(number, listed)) }
      } catch {
        events.yield(.unreadable(number, error))
      }
    }
    // One at a time is enough for everybody who looks.
    guard isFetched, fetches[list] == nil else { return }
    fetches[list] = Task { [events, client, store] in
      do {
        if let probation = try await client.refresh(list, in: store) { events.yield(.probation(probation)) }
        events.yield(.fetched(list, nil))
      } catch {
        events.yield(.fetched(list, error))
      }
    }
  }

  private func show(_ listed: ForumStore.Listed) {
    let isFirst = visit.listed == nil
    visit.listed = listed
    visit.lease = store.use(listed.lines, of: visit.list)
    let lines = visit.screen.update(listed)
    if !lines.isEmpty { console.say(lines.joined(separator: "\n")) }
    if !isFirst && !lines.isEmpty { visit.hasChanged = true }
    if isFirst, listed.lines.isEmpty, fetches[visit.list] != nil { console.say("fetching…") }
    settle()
  }

  /// Says how the fetch ended, once that is known and the list shows what it brought.
  private func settle() {
    guard !visit.isSettled, let listed = visit.listed, fetches[visit.list] == nil else { return }
    if let failure = visit.failure {
      console.say("from memory: \(Words.describe(failure))")
    } else {
      guard (listed.fetch ?? 0) >= (visit.fetch ?? 0) else { return }
      if visit.isAsked, !visit.hasChanged { console.say("nothing new") }
    }
    if listed.lines.isEmpty, !visit.hasChanged { console.say("nothing here yet") }
    visit.isSettled = true
  }

  /// Waits for the next word: at any time for a person's, for a script's when everything before it is done.
  private func awaitWord() {
    guard word == nil, console.isInteractive || (visit.isSettled && openDeeds == 0) else { return }
    word = Task { [events, console] in events.yield(.word(await console.line("> ", secretly: false))) }
  }

  // MARK: Words

  private func obey(_ word: String) async throws {
    let parts = word.split(separator: " ", maxSplits: 1).map(String.init)
    switch (parts.first ?? "", parts.dropFirst().first) {
    case ("q", nil): isLeaving = true
    case ("", nil): look(isAsked: false)
    case ("r", nil): look(isAsked: true)
    case ("b", nil):
      if path.count > 1 { path.removeLast() }
      look(isAsked: false)
    case ("n", nil): turn(by: 1)
    case ("p", nil): turn(by: -1)
    case ("m", nil): go(to: .messages)
    case ("marks", nil): go(to: .bookmarks(page: 1))
    case ("who", let whom?):
      guard let person = person(whom) else { return help() }
      go(to: .person(person))
    case ("offline", nil):
      isOffline.toggle()
      console.say(isOffline ? "offline: nothing is fetched" : "online")
      if !isOffline { look(isAsked: false) }
    case ("read", nil): markRead()
    case ("mark", let number): bookmark(number, true)
    case ("unmark", let number): bookmark(number, false)
    case ("out", nil):
      let report = await client.controller.signOut(.standard.erasing(.database))
      console.say(report.failed.isEmpty ? "signed out" : "signed out; not erased: \(report.failed)")
    default:
      guard let line = line(word), let next = opened(line) else { return help() }
      go(to: next)
    }
  }

  private func help() {
    console.say(
      """
      a number opens · n p: pages · b: back · m: messages · marks · mark, unmark: this thread, or with its number
      who ID, who #7: a member, the author of post 7 · read · r: fetch again · offline · out · q
      """)
  }

  private func go(to list: Listing) {
    path.append(list)
    look(isAsked: false)
  }

  private func line(_ number: String) -> ForumStore.Line? {
    guard let number = Int(number), let lines = visit.listed?.lines, lines.indices.contains(number - 1) else {
      return nil
    }
    return lines[number - 1]
  }

  /// A member by their number, or by that of a post that is on the screen: `7`, `#12`.
  private func person(_ text: String) -> String? {
    if text.hasPrefix("#") {
      guard case .posts = visit.list, let index = Int(text.dropFirst()) else { return nil }
      return visit.listed?.lines.first { $0.index == index }?.person
    }
    return text.isEmpty ? nil : HTMLNode.id(text)
  }

  private func opened(_ line: ForumStore.Line) -> Listing? {
    switch visit.list {
    case .forums: .threads(forum: line.id, page: 1)
    case .threads, .bookmarks: .posts(thread: line.id, page: 1)
    case .messages: .message(line.id)
    case .posts, .message, .person: nil
    }
  }

  private func turn(by step: Int) {
    func clamped(_ page: Int) -> Int { max(1, min(page + step, visit.listed?.pages ?? 1)) }
    let turned: Listing? =
      switch visit.list {
      case .threads(let forum, let page): .threads(forum: forum, page: clamped(page))
      case .bookmarks(let page): .bookmarks(page: clamped(page))
      case .posts(let thread, let page): .posts(thread: thread, page: clamped(page))
      case .forums, .messages, .message, .person: nil
      }
    if let turned { path[path.count - 1] = turned }
    look(isAsked: false)
  }

  private func markRead() {
    guard case .posts(let thread, _) = visit.list, let last = visit.listed?.lines.last else { return help() }
    ask("marked as read", or: "not marked") { [client, store] in
      try await client.markRead(thread, to: last.index, in: store)
    }
  }

  /// The thread of that number in a list of threads, or the one that is open.
  private func bookmark(_ number: String?, _ isBookmarked: Bool) {
    let thread: String? =
      switch (visit.list, number) {
      case (.posts(let thread, _), nil): thread
      case (.threads, let number?), (.bookmarks, let number?): line(number)?.id
      default: nil
      }
    guard let thread else { return help() }
    ask(isBookmarked ? "bookmarked" : "no bookmark any more", or: isBookmarked ? "not bookmarked" : "bookmark kept") {
      [client, store] in try await client.bookmark(thread, isBookmarked, in: store)
    }
  }

  /// Has something done at the forum while the reading goes on.
  private func ask(_ done: String, or failed: String, _ deed: @escaping @Sendable () async throws -> Void) {
    guard !isOffline else { return console.say("\(failed): offline") }
    openDeeds += 1
    deeds.append(
      Task { [events] in
        do {
          try await deed()
          events.yield(.told(done))
        } catch {
          events.yield(.told("\(failed): \(Words.describe(error))"))
        }
      })
  }
}
