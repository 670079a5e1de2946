import Foundation
import Handstamp
import HandstampData

/// The reading of one account between sign-in and the end of the session.
///
/// Pages take one path: fetched, stored, and displayed from the store. A list is therefore shown immediately as far as
/// it is known, and updated whenever it changes for any reason; the result of a fetch for a list no longer on display
/// is stored but not shown. Every sitting has its own store and event stream, so nothing carries over to the next one.
final class Sitting {
  enum End { case quit, over }

  private enum Event: Sendable {
    case word(String?)
    /// The list as seen by the visit with this number.
    case listed(Int, ForumStore.Listed)
    case unreadable(Int, any Error)
    case fetched(Listing, (any Error)?)
    /// A page mentioned a probation.
    case probation(Ban)
    /// The outcome of a request to the forum.
    case told(String)
    case over
  }

  /// One visit to one list.
  private struct Visit {
    var number = 0
    var list = Listing.forums
    /// Whether the user asked for the fetch and expects a result.
    var isAsked = false
    var screen: Screen
    var looking: Task<Void, Never>?
    var listed: ForumStore.Listed?
    /// Protects the rows on display from pruning.
    var lease: RowsInUse?
    var hasChanged = false
    /// The number of the last fetch, as known to the store when it ended. The list is up to date once it shows this
    /// fetch.
    var fetch: Int64?
    var failure: (any Error)?
    /// Whether the result of the fetch has been announced.
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
  /// The probation last announced.
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
    let watching = Task { [events, states = client.controller.states, session = facts.id] in
      for await state in states {
        guard case .signedIn(let now) = state, now.id == session else { break }
      }
      events.yield(.over)
    }
    defer {
      for task in [watching, word, visit.looking].compactMap({ $0 }) + deeds + fetches.values { task.cancel() }
    }
    look(isAsked: false)
    for await event in stream {
      // Events after the end are dropped.
      guard isGoingOn else { return .over }
      try await handle(event)
      guard isGoingOn else { return .over }
      if isLeaving {
        // Requests to the forum are completed before the program ends.
        if openDeeds == 0 { return .quit }
        continue
      }
      awaitWord()
      console.repeatPrompt()
    }
    return .over
  }

  private var isGoingOn: Bool {
    if case .signedIn(let now) = client.controller.state { now.id == facts.id } else { false }
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

  /// Shows the list at the end of the path, and fetches it if it is due or the user asks.
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
    // One fetch at a time serves all visits.
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

  /// Announces the result of the fetch, once it has ended and the list shows it.
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

  /// Waits for the next command: a human's at any time, a script's once everything before it is done.
  private func awaitWord() {
    guard word == nil, console.isInteractive || (visit.isSettled && openDeeds == 0) else { return }
    word = Task { [events, console] in events.yield(.word(await console.line("> ", secretly: false))) }
  }

  // MARK: Commands

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

  /// Returns a member by ID, or by the number of a post on display: `7`, `#12`.
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

  /// Returns the thread with this number in a list of threads, or the open thread.
  private func bookmark(_ number: String?, _ isBookmarked: Bool) {
    let thread: String? =
      switch (visit.list, number) {
      case (.posts(let thread, _), nil): thread
      case (.threads, let number?), (.bookmarks, let number?): line(number)?.id
      default: nil
      }
    guard let thread else { return help() }
    ask(isBookmarked ? "bookmarked" : "bookmark removed", or: isBookmarked ? "not bookmarked" : "bookmark kept") {
      [client, store] in try await client.bookmark(thread, isBookmarked, in: store)
    }
  }

  /// Makes a request to the forum while reading continues.
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
