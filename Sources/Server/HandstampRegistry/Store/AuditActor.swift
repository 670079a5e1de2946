/// The actor of changes, as the audit log names it.
public struct AuditActor: Sendable, Hashable {
  /// `owner`, `server`, a user of the server's machine after `operator:`, or an administrator's name after `admin:`.
  public let name: String
  /// The client's IP address, if there is a request.
  public let address: String?
  /// The language of whoever made the request, as the pages have it, for the mails that come of it; `nil` if it is not known.
  package var language: String?

  var isOwner: Bool { name == "owner" }

  /// The server, by its own rules.
  public static func server(from address: String? = nil) -> AuditActor { AuditActor(name: "server", address: address) }

  /// The account's owner, or a client that proved to be one.
  public static func owner(from address: String?) -> AuditActor { AuditActor(name: "owner", address: address) }

  /// An administrator with a token, over HTTP.
  public static func administrator(_ name: String, from address: String?) -> AuditActor {
    AuditActor(name: "admin:" + name, address: address)
  }

  /// A user of the server's machine, at its command line.
  public static func machineUser(_ name: String) -> AuditActor { AuditActor(name: "operator:" + name, address: nil) }
}
