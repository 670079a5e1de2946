#if Server
public import HandstampRegistry

/// The mails of a server, apart from the ``Mailer`` that sends them.
public struct MailSettings: Sendable, Hashable {
  /// The sender. `nil` uses `handstamp@` and the issuer's host.
  public var from: String?
  /// A template for links, with `{token}` and optionally `{action}` (`confirm` or `reset`): an address of the operator's app or
  /// page. If `nil`, they lead to the server's own pages.
  public var link: String?
  /// Where users see their devices: an address of the operator's app or page. `nil` names the server's own page.
  public var devicesLink: String?
  /// The events that accounts with an address are told of. Default: all.
  public var notices = Set(AccountNotice.allCases)
  /// The greatest random delay between a request and the work for its mail, so that other requests, delayed by that work, do not
  /// tell whether the address has an account. Default 2 s.
  public var jitter = Duration.seconds(2)
  /// How many are sent at once, at least 1. Default 4.
  public var atOnce = 4 { didSet { atOnce = max(1, atOnce) } }

  public init() {}

  /// The template for links that set a password, to the page of the server itself.
  package static func ownLink(at issuer: String) -> String { issuer + "/reset-password?token={token}" }
}
#endif
