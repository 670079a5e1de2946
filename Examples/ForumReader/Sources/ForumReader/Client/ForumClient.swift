import Foundation
public import Handstamp
public import HandstampCookies

/// Fetches the forum's pages on behalf of the session, and stores their content.
public struct ForumClient: Sendable {
  public let backend: CookieBackend
  public let api: APIClient
  public var controller: SessionController { api.controller }

  public init(controller: SessionController, backend: CookieBackend, transport: any Transport) {
    self.backend = backend
    api = APIClient(
      baseURL: backend.site.baseURL, controller: controller, transport: transport,
      options: .init(retryPolicy: RetryPolicy(attempts: 1)))
  }

  /// Fetches a list and keeps it in `store`, and only there, even if another account signs in meanwhile.
  ///
  /// - Returns: The probation mentioned on the page; `nil` for a member who may write.
  /// - Throws: ``ForumRefusal`` if the forum refuses, ``ScrapeError`` if the page cannot be parsed, ``ForumFailure``,
  ///   and the errors of ``APIClient``. The store keeps its content.
  @discardableResult
  public func refresh(_ list: Listing, in store: ForumStore) async throws -> Ban? {
    switch list {
    case .forums: try await keep(ForumIndex.self, "index.php", list, store)
    case .threads(let id, let page):
      try await keep(ThreadList.self, "forumdisplay.php?forumid=\(id)&perpage=40&pagenumber=\(page)", list, store)
    case .bookmarks(let page):
      try await keep(BookmarkList.self, "bookmarkthreads.php?action=view&perpage=40&pagenumber=\(page)", list, store)
    case .posts(let id, let page):
      try await keep(PostsPage.self, "showthread.php?threadid=\(id)&perpage=40&pagenumber=\(page)", list, store)
    case .messages: try await keep(MessageList.self, "private.php", list, store)
    case .message(let id):
      try await keep(MessagePage.self, "private.php?action=show&privatemessageid=\(id)", list, store)
    case .person(let id): try await keep(ProfilePage.self, "member.php?action=getinfo&userid=\(id)", list, store)
    }
  }

  private func keep<Page: Kept>(
    _ type: Page.Type, _ path: String, _ list: Listing, _ store: ForumStore
  ) async throws -> Ban? {
    let (page, probation) = try await scraped(type, path)
    try await store.keep(page, for: list)
    return probation
  }

  /// Marks a thread as read up to a post, at the forum and in the store.
  public func markRead(_ thread: String, to index: Int, in store: ForumStore) async throws {
    try await tell(
      "showthread.php", [.init("action", "setseen"), .init("threadid", thread), .init("index", String(index))])
    try await store.markRead(thread, to: index)
  }

  /// Adds a thread to the account's bookmarks at the forum, or removes it.
  public func bookmark(_ thread: String, _ isBookmarked: Bool, in store: ForumStore) async throws {
    try await tell(
      "bookmarkthreads.php", [.init("action", isBookmarked ? "add" : "remove"), .init("threadid", thread)])
    try await store.bookmark(thread, isBookmarked)
  }

  private func tell(_ path: String, _ fields: [WebForm.Field]) async throws {
    let form = WebForm(fields, charset: .windows1252)
    try await explaining {
      let response = try await api.response(to: form.request(to: backend.site.baseURL.absoluteString + path))
      let page = try? HTMLPage(windows1252: response.body)
      if let refusal = page?.refusal { throw refusal }
      guard response.status < 400 else { throw ForumFailure.status(response.status) }
      // A network's own sign-in page responds to everything with success, without having done anything.
      guard page?.isForMember == true else { throw ScrapeError.missing("name of the member") }
    }
  }

  private func scraped<Page: Kept>(_ type: Page.Type, _ path: String) async throws -> (Page, probation: Ban?) {
    let session = session
    return try await explaining {
      let page = try await page(path)
      // A redirect is followed with the cookie of that moment, so the page may belong to the next account.
      guard self.session == session else { throw ForumFailure.over }
      return (try page.scrape(), page.probation)
    }
  }

  /// Clarifies a refusal: whether the session has ended, or why and until when the member is banned.
  private func explaining<Value>(_ work: () async throws -> Value) async throws -> Value {
    do { return try await work() } catch ForumRefusal.mustRegister {
      try await makeSure()
      throw ForumRefusal.mustRegister
    } catch ForumRefusal.banned(let ban) {
      throw ForumRefusal.banned(await explained(ban))
    }
  }

  /// Completes a ban with its reason and end, if only the forum's list of bans states them.
  private func explained(_ ban: Ban) async -> Ban {
    guard ban.reason.isEmpty, let user = ban.listed,
      let list = try? await page("banlist.php?userid=\(user)&actfilt=-1").scrape(BanList.self),
      let entry = list.entries.first(where: { $0.user.id == user && $0.ban.kind != .probation })
    else { return ban }
    return entry.ban
  }

  /// The session that requests a page. A session never resumes once it has ended.
  private var session: SessionID? {
    guard case .signedIn(let facts) = controller.state else { return nil }
    return facts.id
  }

  private func page(_ path: String) async throws -> HTMLPage {
    var request = TransportRequest(method: "GET", url: backend.site.baseURL.absoluteString + path)
    for _ in 0..<5 {
      let response = try await api.response(to: request)
      if let next = request.following(response) {
        // A page from another site must not be taken for the forum's.
        guard let there = WebAddress(next.url), let home = WebAddress(backend.site.baseURL.absoluteString),
          there.isSameOrigin(as: home)
        else { throw ForumFailure.elsewhere }
        request = next
        continue
      }
      // A refusal may come with any status.
      let page = try? HTMLPage(windows1252: response.body)
      if let refusal = page?.refusal, refusal != .mustRegister { throw refusal }
      guard let page, response.status < 500 else { throw ForumFailure.status(response.status) }
      return page
    }
    throw ForumFailure.status(302)
  }

  /// Checks whether the session has ended, after a page claimed to be for members only while the cookie is still there.
  /// The start page decides: it names the member, or asks to sign in. If it does neither, the session continues.
  private func makeSure() async throws {
    guard case .signedIn(let facts) = controller.state else { return }
    let index = try await page("index.php")
    guard try index.scrape(ForumIndex.self).user == nil, index.visitor == .guest,
      case .signedIn(let now) = controller.state, now.id == facts.id
    else { return }
    await controller.sessionDidEnd(facts.id, reason: .rejected)
    // Waits for the end to take effect: the caller must not continue as if signed in.
    for await state in controller.states {
      guard case .signedIn(let now) = state, now.id == facts.id else { return }
    }
  }
}

/// A failure to fetch a page.
public enum ForumFailure: Error, Sendable, Hashable {
  case status(Int)
  /// The forum redirects to another site, perhaps the network's own sign-in page.
  case elsewhere
  /// The session that requested the page ended before it arrived.
  case over
}
