import HandstampCore

/// How a session is kept where it begins, as the person who signs in says.
public enum SessionPersistence: String, Sendable, Hashable, CaseIterable {
  /// By an app that stores it, or a browser of the person's own.
  case persistent
  /// By an app only as long as it runs; or by a browser of another person, which is borrowed, see ``SessionRow/isBorrowed``.
  case ephemeral
}

/// How long a session lives.
struct SessionLife: Sendable, Hashable {
  /// The lives in a borrowed browser: an hour, and 15 min without a request. Whoever uses it next may find the cookie, because
  /// browsers that restore their tabs also keep cookies without `Max-Age`.
  static let borrowed = SessionLife(absolute: .seconds(3600), idle: .seconds(900))

  /// Time from sign-in to its end, however much it is used. `nil` disables the limit.
  var absolute: Duration?
  /// Time without use after which it ends. `nil` disables the limit.
  var idle: Duration?

  init(absolute: Duration?, idle: Duration?) { (self.absolute, self.idle) = (absolute, idle) }

  /// - Parameter client: that of the session; `nil` is the server's own app.
  init(
    of kind: SessionKind, _ persistence: SessionPersistence, client: SessionClient?, isGuest: Bool,
    in limits: RegistryLimits
  ) {
    let idle = isGuest ? limits.guestIdleLimit ?? limits.idleLimit : limits.idleLimit
    switch (kind, persistence) {
    case (.keyed, .persistent), (.plain, .persistent): self.init(absolute: limits.absoluteLimit, idle: idle)
    // The tokens are gone with the program. Until then, only a program that no longer uses them has ended. Of that, the operator
    // takes the word of the server's own app alone.
    case (.keyed, .ephemeral), (.plain, .ephemeral):
      self.init(
        absolute: client == nil ? nil : limits.absoluteLimit,
        idle: [idle, limits.ephemeralIdleLimit].compactMap(\.self).min())
    case (.browser, .persistent):
      self.init(absolute: limits.browserAbsoluteLimit, idle: limits.browserIdleLimit)
    case (.browser, .ephemeral):
      self.init(
        absolute: [SessionLife.borrowed.absolute, limits.browserAbsoluteLimit].compactMap(\.self).min(),
        idle: [SessionLife.borrowed.idle, limits.browserIdleLimit].compactMap(\.self).min())
    }
  }
}

extension SessionRow {
  /// Whether it is in a browser of another person. Every session that begins by it ends with it.
  public var isBorrowed: Bool { kind == .browser && persistence == .ephemeral }

  /// Whether the clients that a user signed in to with this browser end with its session.
  func takesClients(with reason: EndReason) -> Bool { kind == .browser && (isBorrowed || reason.reachesClients) }
}
