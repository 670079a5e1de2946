import Foundation
import ForumReader
import Handstamp
import HandstampCookies
import HandstampData
import HandstampVaults

/// One sitting: shows a list, takes a word, shows the next list.
final class Reader {
  private let server: String
  private let client: ForumClient
  private let open = OpenStore()
  private var path: [Listing] = [.forums]
  private var isOffline = false
  /// What is on the screen stays in the store.
  private var shown: Lease?
  /// How much of the forum is kept.
  private static let limits = PruneLimits(bytes: 64 << 20)

  init(_ server: String) throws {
    self.server = server
    let transport = URLSessionTransport()
    let clock = SystemClock()
    let backend = CookieBackend(.forum(server), transport: transport, clock: clock)
    let open = open
    let controller = SessionController(
      vault: .platform(Forum.name), backend: backend, policy: .onRejection, clock: clock,
      cleanups: [CleanupStep("database", .database) { ended in try open.remove(of: ended.account) }])
    client = try ForumClient(backend.site.baseURL, controller: controller, backend: backend, transport: transport)
  }

  func run() async throws {
    for await state in client.controller.states {
      switch state {
      case .restoring: continue
      case .signedIn(let facts):
        try await read(facts)
        if case .signedIn = client.controller.state { return }
      case .signedOut(let reason):
        if let reason, reason != .signedOut {
          Terminal.say("you were signed out: \(Words.describe(SessionError.signedOut(reason)))")
        }
        guard try await signIn() else { return }
      case .unavailable(let error): throw error
      }
    }
  }

  /// Until it works; false at the end of the input.
  private func signIn() async throws -> Bool {
    path = [.forums]
    while true {
      Terminal.say("sign in to \(server)")
      guard let name = await Terminal.ask("name: "), let password = await Terminal.ask("password: ", secretly: true)
      else {
        return false
      }
      do {
        try await client.controller.signIn { [client] in try await client.backend.signIn(name, Secret(password)) }
        return true
      } catch {
        Terminal.say("not signed in: \(Words.describe(error))")
      }
    }
  }

  private func read(_ facts: SignedIn) async throws {
    let store = try open.store(of: facts.profile.id)
    Terminal.say("signed in as \(facts.profile.name)")
    await remind(store)
    let life = StoreLife(store.store, limits: Reader.limits)
    life.cameToFront()
    do { try await turnPages(facts, store) } catch {
      await life.wentToBackground().value
      throw error
    }
    shown = nil
    // Whoever leaves may be back much later.
    await life.wentToBackground().value
  }

  private func turnPages(_ facts: SignedIn, _ store: ForumStore) async throws {
    var isNew = true
    while case .signedIn(let now) = client.controller.state, now.session == facts.session {
      guard let list = path.last else { return }
      if isNew { await refresh(list, store) }
      guard case .signedIn = client.controller.state else { return }
      let lines = try store.now(list)
      if isNew { show(list, lines, try store.pages(of: list)) }
      shown = store.use(lines, of: list)
      guard let word = await Terminal.ask("> ") else { return }
      isNew = try await obey(word.trimmingCharacters(in: .whitespaces), list, lines, store)
      if path.isEmpty { return }
    }
  }

  /// Whether there is something new to show.
  private func obey(_ word: String, _ list: Listing, _ lines: [ForumStore.Line], _ store: ForumStore) async throws
    -> Bool
  {
    switch word {
    case "q": path = []
    case "b": if path.count > 1 { path.removeLast() }
    case "r", "": break
    case "m": path.append(.messages)
    case "n": turn(list, by: 1, of: try store.pages(of: list))
    case "p": turn(list, by: -1, of: try store.pages(of: list))
    case "offline":
      isOffline.toggle()
      Terminal.say(isOffline ? "offline: nothing is fetched" : "online")
      return !isOffline
    case "read":
      guard case .posts(let thread, let page) = list, !lines.isEmpty else { return false }
      guard !isOffline else {
        Terminal.say("not marked: offline")
        return false
      }
      do {
        try await client.markRead(thread, to: (page - 1) * 40 + lines.count, in: store)
        Terminal.say("marked as read")
      } catch {
        Terminal.say("not marked: \(Words.describe(error))")
      }
      return false
    case "out":
      let report = await client.controller.signOut(.standard.erasing(.database))
      Terminal.say(report.failed.isEmpty ? "signed out" : "signed out; not erased: \(report.failed)")
    case _ where word.hasPrefix("who "):
      path.append(.person(String(word.dropFirst(4).filter { $0.isNumber && $0.isASCII })))
    default:
      guard let number = Int(word), lines.indices.contains(number - 1), let next = opened(lines[number - 1], of: list)
      else {
        Terminal.say("a number opens · n p: pages · b: back · m: messages · who ID · read · r · offline · out · q")
        return false
      }
      path.append(next)
    }
    return true
  }

  private func opened(_ line: ForumStore.Line, of list: Listing) -> Listing? {
    switch list {
    case .forums: .threads(forum: line.id, page: 1)
    case .threads: .posts(thread: line.id, page: 1)
    case .messages: .message(line.id)
    case .posts, .message, .person: nil
    }
  }

  private func turn(_ list: Listing, by step: Int, of pages: Int) {
    func clamped(_ page: Int) -> Int { max(1, min(page + step, pages)) }
    switch list {
    case .threads(let forum, let page): path[path.count - 1] = .threads(forum: forum, page: clamped(page))
    case .posts(let thread, let page): path[path.count - 1] = .posts(thread: thread, page: clamped(page))
    case .forums, .messages, .message, .person: break
    }
  }

  private func refresh(_ list: Listing, _ store: ForumStore) async {
    guard !isOffline else { return }
    do { try await client.refresh(list, in: store) } catch {
      Terminal.say("from memory: \(Words.describe(error))")
    }
  }

  private func show(_ list: Listing, _ lines: [ForumStore.Line], _ pages: Int) {
    var section = ""
    for (index, line) in lines.enumerated() {
      if line.section != section {
        section = line.section
        Terminal.say("== \(section)")
      }
      switch list {
      case .posts, .message, .person: Terminal.say("-- \(line.note)\n\(line.text)")
      case .forums, .threads, .messages: Terminal.say("\(index + 1). \(line.text) (\(line.note))")
      }
    }
    if lines.isEmpty { Terminal.say("nothing here yet") }
    switch list {
    case .threads(_, let page), .posts(_, let page): Terminal.say("page \(page) of \(pages)")
    case .forums, .messages, .message, .person: break
    }
  }

  private func remind(_ store: ForumStore) async {
    guard let token = try? await client.controller.token(), var reminder = try? store.reminder() else { return }
    let end = client.backend.loginCookieExpiryDate(token)
    guard let left = reminder.due(expiry: end, at: SystemClock().now().wall) else { return }
    let days = Int(left / .seconds(86_400))
    Terminal.say("your sign-in ends in \(days < 1 ? "less than a day" : "\(days + 1) days"): sign in anew before that")
    try? await store.keep(reminder)
  }
}

/// The store of whoever is signed in.
// Unchecked: all access is under the lock.
final class OpenStore: @unchecked Sendable {
  private let lock = NSLock()
  private var account: AccountID?
  private var store: ForumStore?

  func store(of account: AccountID) throws -> ForumStore {
    lock.lock()
    defer { lock.unlock() }
    if let store, self.account == account { return store }
    let opened = try ForumStore(StorePlace(Forum.name, account: account))
    (self.account, store) = (account, opened)
    return opened
  }

  /// Erases what is kept of that account, open or not.
  func remove(of ended: AccountID?) throws {
    lock.lock()
    defer { lock.unlock() }
    guard let ended else { return }
    if account == ended, let open = store {
      try open.store.remove()
      (account, store) = (nil, nil)
    } else {
      try StorePlace(Forum.name, account: ended).remove()
    }
  }
}
