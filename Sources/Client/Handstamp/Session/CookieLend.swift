#if canImport(FoundationNetworking)
import Foundation
package import FoundationNetworking
#else
package import Foundation
#endif
package import HandstampCore
import HandstampSupport

/// The cookies of one web view's store.
@MainActor package protocol WebCookies: AnyObject {
  func cookies() async -> [LentCookie]
  func set(_ cookie: LentCookie) async
  func remove(_ cookie: LentCookie) async
  /// Reports changes, whoever makes them; `nil` to report no more.
  func observe(_ changed: (@MainActor () -> Void)?)
}

/// A session's cookies in a web view, from the time at which they are lent to the end of the session.
///
/// The site's changes there come back into the vault like a response of the site: before the next request of the session, and soon
/// after the change. What responses change goes to the web view. Of two changes of one cookie the first one that is stored stays: the
/// other one was made to a cookie that is no longer in use. The store belongs to this session alone.
@MainActor package final class CookieLend {
  let store: any WebCookies
  private let session: SessionID
  private let scheme: any CookieCredential
  private weak var controller: SessionController?
  /// Takes in what a web view has changed of the cookies of a credential.
  private let takeIn: @Sendable ([HeaderField], Credential) async -> Void
  /// The credential whose cookies are lent, and these as the store shows them; `nil` before the first exchange. What lies in the store
  /// by then is of an earlier lend, and older than the vault's.
  private var lent: (credential: Credential, cookies: [LentCookie])?
  private var isOver = false
  /// The last exchange that was asked for, and whether it has not begun yet.
  private var last: Task<Void, Never>?
  private var isPending = false

  fileprivate init(
    of session: SessionID, as scheme: any CookieCredential, over api: APIClient, to store: any WebCookies
  ) {
    self.store = store
    self.session = session
    self.scheme = scheme
    controller = api.controller
    let generation = api.controller.requests.generation
    takeIn = { [weak controller = api.controller, baseURL = api.baseURL, transport = api.transport] fields, sent in
      guard let controller else { return }
      await APIClient(baseURL: baseURL, controller: controller, transport: transport)
        .takeIn(fields, sent: sent, in: generation)
    }
    store.observe { [weak self] in
      guard let self else { return }
      Task { await self.exchange() }
    }
    Task { [weak self, states = api.controller.states] in
      for await state in states {
        guard case .signedIn(let facts) = state, facts.id == session else { break }
      }
      await self?.takeBack(after: session)
    }
  }

  /// Whether the cookies are those of that session, and still lent.
  func isUsed(by other: SessionID) -> Bool { !isOver && session == other }

  /// Brings the web view's changes into the vault, and the session's into the web view. One at a time: callers that wait for the same
  /// one share it.
  package func exchange() async {
    guard !isPending, !isOver else {
      await last?.value
      return
    }
    isPending = true
    let task = Task { [previous = last] in
      await previous?.value
      self.isPending = false
      await self.exchangeNow()
    }
    last = task
    await task.value
  }

  private func exchangeNow() async {
    guard !isOver, let controller, let current = controller.credential(of: session) else { return }
    let now = controller.clock.now().wall
    let shown = await store.cookies()
    if let lent {
      let changes = scheme.changes(from: lent.cookies, to: shown, at: now)
      if changes.isEmpty, current == lent.credential { return }
      // One by one: a removal that ends nothing must not hide another change.
      for isRemoval in [false, true] {
        let fields = changes.filter { $0.isRemoval == isRemoval }.map(\.field)
        if !fields.isEmpty { await takeIn(fields, lent.credential) }
      }
    }
    guard !isOver, let newest = controller.credential(of: session) else { return }
    await lend(newest, over: shown, at: now)
  }

  /// Gives the store what it lacks, and removes what the session no longer has.
  ///
  /// - Parameter shown: what the store had when its changes were taken in. What the site has changed since then stays, for the next time.
  private func lend(_ current: Credential, over shown: [LentCookie], at now: UnixTime) async {
    func cookie(at place: LentCookie, in list: [LentCookie]) -> LentCookie? { list.first { $0.isSamePlace(as: place) } }
    let wanted = scheme.cookies(of: current, at: now)
    let found = await store.cookies()
    func isTouched(_ place: LentCookie) -> Bool { cookie(at: place, in: found) != cookie(at: place, in: shown) }
    for new in wanted where cookie(at: new, in: found)?.value != new.value && !isTouched(new) { await store.set(new) }
    // At first also what an earlier lend has left in the account's own store.
    let previous = lent?.cookies ?? scheme.changes(from: [], to: found, at: now).map(\.cookie)
    for old in previous where cookie(at: old, in: wanted) == nil && !isTouched(old) { await store.remove(old) }
    // As the store shows them, which may keep a cookie for a shorter time, or refuse it.
    let kept = await store.cookies()
    let cookies = wanted.compactMap { given -> LentCookie? in
      guard let own = cookie(at: given, in: kept) else { return isTouched(given) ? given : nil }
      return own.value == given.value ? own : given
    }
    lent = (current, cookies)
  }

  /// Waits for work at a web view, no longer than that, and no longer than the caller wants to.
  package nonisolated static func within(_ limit: Duration, _ work: @escaping @Sendable () async -> Void) async {
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let working = Task {
      await work()
      end.finish()
    }
    let waiting = Task {
      try? await Task.sleep(for: limit)
      end.finish()
    }
    for await _ in ends {}
    waiting.cancel()
    _ = working
  }

  /// Ends the lend: nothing comes back any more, and the store is emptied. No effect after the end of another session.
  package func takeBack(after ended: SessionID) async {
    if ended == session { await takeBack() }
  }

  fileprivate func takeBack() async {
    isOver = true
    store.observe(nil)
    await last?.value
    for cookie in await store.cookies() { await store.remove(cookie) }
    controller?.lending.withLock { lend in
      if lend === self { lend = nil }
    }
  }
}

extension SessionController {
  /// Takes in what a web view was given, as far as it says so in time.
  nonisolated func exchangeLent() async {
    if let lend = lending.withLock({ $0 }) { await CookieLend.within(.seconds(2)) { await lend.exchange() } }
  }

  /// The credential of that session; `nil` if it is not in use, or is being signed out.
  fileprivate nonisolated func credential(of session: SessionID) -> Credential? {
    guard case .signedIn(let facts) = state, facts.id == session else { return nil }
    return snapshot.withLock { $0.access?.credential }
  }
}

extension SessionManager {
  /// Lends the session's cookies to the store of a web view. A session has one such store at a time.
  ///
  /// - Parameters:
  ///   - isFit: whether the store that has them already will do.
  ///   - make: creates one, which no other session uses.
  /// - Throws: ``SessionError/unsupported(_:)`` for a session that is no cookie; otherwise as
  ///   ``SessionController/credential(minimumValidity:)``, and the error of `make`.
  package func lendCookies<Store: WebCookies>(
    unless isFit: (Store) -> Bool = { _ in true }, to make: (SignedIn) throws(SessionError) -> Store
  ) async throws(SessionError) -> Store {
    _ = try await controller.credential()
    guard let scheme = controller.abilities.credential as? any CookieCredential else {
      throw .unsupported("cookies for a web view")
    }
    guard case .signedIn(let facts) = controller.state else { throw controller.fenceError }
    let previous = controller.lending.withLock { $0 }
    if let previous, previous.isUsed(by: facts.id), let store = previous.store as? Store, isFit(store) {
      await previous.exchange()
      return store
    }
    await previous?.takeBack()
    let store = try make(facts)
    let lend = CookieLend(of: facts.id, as: scheme, over: api, to: store)
    controller.lending.withLock { $0 = lend }
    await lend.exchange()
    guard lend.isUsed(by: facts.id) else { throw controller.fenceError }
    return store
  }
}

extension LentCookie {
  /// A cookie of a system's storage.
  package init(_ cookie: HTTPCookie) {
    let isForDomain = cookie.domain.hasPrefix(".")
    self.init(
      name: cookie.name, value: Secret(cookie.value),
      domain: (isForDomain ? String(cookie.domain.dropFirst()) : cookie.domain).lowercased(), isHostOnly: !isForDomain,
      path: cookie.path, expires: cookie.expiresDate.map { UnixTime($0) }, isSecure: cookie.isSecure,
      isHTTPOnly: cookie.isHTTPOnly)
  }

  /// `nil` if the system refuses it.
  package var httpCookie: HTTPCookie? {
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: name, .value: value.withExposed { $0 }, .domain: (isHostOnly ? "" : ".") + domain, .path: path,
    ]
    if let expires { properties[.expires] = expires.date }
    if isSecure { properties[.secure] = "TRUE" }
    // The key that WebKit itself uses; the SDK has no name for it.
    if isHTTPOnly { properties[HTTPCookiePropertyKey(rawValue: "HttpOnly")] = "TRUE" }
    return HTTPCookie(properties: properties)
  }
}
